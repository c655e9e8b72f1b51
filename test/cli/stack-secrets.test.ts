import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { SecretError, secretOf, stackNameOf } from "../../cli/stack-secrets";

const folder = mkdtempSync(path.join(tmpdir(), "stack-secrets-"));
const file = path.join(folder, "Pulumi.mine.yaml");
const before = process.env["PATH"];

/** A `pulumi` that answers as the script says. */
function pulumi(script: string): void {
  const place = path.join(folder, "pulumi");
  writeFileSync(place, `#!/bin/bash\n${script}\n`);
  chmodSync(place, 0o755);
  process.env["PATH"] = `${folder}:${before ?? ""}`;
}

beforeEach(() => {
  writeFileSync(
    file,
    [
      "config:",
      "  proxmox-gpu-stack:apiToken: root@pam!iac=11111111-2222-3333-4444-555555555555",
      "  proxmox-gpu-stack:sshPrivateKey: { secure: v1:abc }",
    ].join("\n"),
  );
});

afterEach(() => {
  process.env["PATH"] = before;
});

test("a plain secret is read from the file, a missing one is undefined", () => {
  pulumi("exit 9");
  expect(secretOf(file, "apiToken", folder)).toBe("root@pam!iac=11111111-2222-3333-4444-555555555555");
  expect(secretOf(file, "apiPassword", folder)).toBeUndefined();
});

test("an encrypted one is asked from Pulumi, for the stack and the file, with its lines as they are", () => {
  pulumi(`[[ "$*" == "config get proxmox-gpu-stack:sshPrivateKey --stack mine --config-file ${file} --non-interactive" ]] || exit 1
printf 'BEGIN\\nEND\\n\\n'`);
  expect(secretOf(file, "sshPrivateKey", folder)).toBe("BEGIN\nEND\n");
});

test("what Pulumi cannot read is an error that names the key and Pulumi's reason", () => {
  pulumi("echo 'error: incorrect passphrase' >&2; exit 255");
  expect(() => secretOf(file, "sshPrivateKey", folder)).toThrow(SecretError);
  expect(() => secretOf(file, "sshPrivateKey", folder)).toThrow(
    "sshPrivateKey is encrypted and pulumi cannot read it: error: incorrect passphrase",
  );
});

test("a machine without Pulumi is told so", () => {
  process.env["PATH"] = "/nowhere";
  expect(() => secretOf(file, "sshPrivateKey", folder)).toThrow("pulumi cannot be started");
});

test("the stack's name is that of its file", () => {
  expect(stackNameOf("/somewhere/Pulumi.kpro5.yaml")).toBe("kpro5");
});
