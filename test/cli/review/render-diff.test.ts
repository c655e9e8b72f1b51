import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROJECT_DIRECTORY } from "../../../config/load";
import { refuseSecrets } from "../../../cli/review/secrets";
import { TemporaryCheckout } from "../../ci/support/checkout";

const folder = (): string => mkdtempSync(path.join(tmpdir(), "render-diff-"));

function stack(directory: string, ...words: string[]) {
  return spawnSync(path.join(directory, "stack"), words, { cwd: directory, encoding: "utf8" });
}

describe("render --diff with a folder", () => {
  const out = path.join(folder(), "before");
  beforeAll(() => stack(PROJECT_DIRECTORY, "render", "kpro5", "--out", out));

  test("exits 0 and says so when nothing differs", () => {
    const { status, stdout } = stack(PROJECT_DIRECTORY, "render", "kpro5", "--diff", out);
    expect(stdout).toContain("### Files of `kpro5`: no difference");
    expect(status).toBe(0);
  });

  test("exits 2 when something differs", () => {
    writeFileSync(path.join(out, "units/sglang-qwen.service"), "[Unit]\n");
    const { status, stdout } = stack(PROJECT_DIRECTORY, "render", "kpro5", "--diff", out);
    expect(stdout).toContain("### Files of `kpro5`: 1 file differs");
    expect(status).toBe(2);
  });

  test("refuses a folder that is no rendering", () => {
    const { status, stderr } = stack(PROJECT_DIRECTORY, "render", "kpro5", "--diff", folder());
    expect(stderr).toContain("without steps.md");
    expect(status).toBe(3);
  });
});

describe("render --diff with a revision", () => {
  let checkout: TemporaryCheckout;
  beforeAll(() => (checkout = new TemporaryCheckout()));
  afterAll(() => checkout.remove());
  const change = (file: string, edit: (text: string) => string): void => {
    writeFileSync(checkout.path(file), edit(readFileSync(checkout.path(file), "utf8")));
  };

  test("renders the base with the base's own program: a change of the program alone shows", () => {
    change("plan/unit/banner.ts", (text) => text.replace(/(?<=`|")# /, "# Changed. "));
    const { status, stdout } = stack(checkout.folder, "render", "lab", "--diff", "main");
    expect(stdout).toContain("+# Changed. ");
    expect(status).toBe(2);
    checkout.git("checkout", "--quiet", ".");
  });

  test("compares with where the branch left its base, not with what came there since", () => {
    checkout.git("checkout", "--quiet", "-b", "mine");
    checkout.git("checkout", "--quiet", "main");
    change("Pulumi.lab.yaml", (text) => text.replace("memoryGiB: 4", "memoryGiB: 5"));
    checkout.commit("Meanwhile");
    checkout.git("checkout", "--quiet", "mine");
    const { status, stdout } = stack(checkout.folder, "render", "lab", "--diff", "main");
    expect(stdout).toContain("no difference");
    expect(status).toBe(0);
  });

  test("shows a stack that the base does not have as new", () => {
    execFileSync("cp", [checkout.path("Pulumi.lab.yaml"), checkout.path("Pulumi.fresh.yaml")]);
    const { status, stdout } = stack(checkout.folder, "render", "fresh", "--diff", "main");
    expect(stdout).toContain("it has no Pulumi.fresh.yaml");
    expect(status).toBe(2);
  });

  test("leaves nothing in the repository", () => {
    expect(checkout.git("worktree", "list").trim().split("\n")).toHaveLength(1);
    expect(readdirSync(checkout.path(".git"))).not.toContain("worktrees");
  });
});

describe("a rendering with a secret in it is refused", () => {
  const lab = path.join(PROJECT_DIRECTORY, "Pulumi.lab.yaml");

  test.each([
    ["the stack's own password", "PASSWORD=lab-root-pw", "apiPassword"],
    ["a private key", "-----BEGIN OPENSSH PRIVATE KEY-----", "a private key"],
    ["a hub token", `HF_TOKEN=hf_${"a1".repeat(17)}`, "a token of the model hub"],
    ["an API token", "root@pam!iac=11111111-2222-3333-4444-555555555555", "a token of Proxmox VE's API"],
  ])("%s", (_, text, name) => {
    expect(() => refuseSecrets(lab, { "env/a.env": text })).toThrow(`env/a.env would hold ${name}`);
    try {
      refuseSecrets(lab, { "env/a.env": text });
    } catch (error) {
      expect(String(error)).not.toContain(text);
    }
  });

  test("what only looks similar passes", () => {
    expect(() => refuseSecrets(lab, { "a.md": "the API password; hf_transfer; root@pam" })).not.toThrow();
  });
});
