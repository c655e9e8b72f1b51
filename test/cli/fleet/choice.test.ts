import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { chooseFleet, type Purpose } from "../../../cli/fleet/choice";
import { EXIT, VerbError } from "../../../cli/exit-codes";
import { PROJECT_DIRECTORY } from "../../../config/load";

const folder = mkdtempSync(path.join(tmpdir(), "fleet-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** The lab's stack with another host and other addresses; checksums as if the lab were built. */
function stackFile(name: string, { host = "", container = "" }, change = (text: string): string => text) {
  const text = readFileSync(path.join(PROJECT_DIRECTORY, "Pulumi.lab.yaml"), "utf8")
    .replaceAll("file:.lab/SHA256SUMS", "a".repeat(64))
    .replace("address: 10.77.0.5", `address: ${host}`)
    .replace("address: 10.77.0.129/24", `address: ${container}`)
    .replace("gateway: 10.77.0.1,", `gateway: ${container.replace(/\d+\/24$/, "1")},`);
  const file = path.join(folder, `Pulumi.${name}.yaml`);
  writeFileSync(file, change(text));
  return file;
}

const one = stackFile("one", { host: "10.77.0.5", container: "10.77.0.129/24" });
const two = stackFile("two", { host: "10.77.0.6", container: "10.77.0.130/24" });

function refusal(named: readonly string[], purpose: Purpose): string {
  try {
    chooseFleet(named, purpose);
  } catch (error) {
    expect(error).toBeInstanceOf(VerbError);
    expect((error as VerbError).exitCode).toBe(EXIT.problems);
    return (error as VerbError).message;
  }
  throw new Error("it was not refused");
}

test("without names: every stack in service, neither the example nor the lab nor retired ones", () => {
  const { stacks, leftOut } = chooseFleet([], "preview");
  expect(stacks.map(({ name }) => name)).toEqual(["kpro5"]);
  expect(leftOut).toEqual(["kpro6: the address of its host is not recorded"]);
});

test("named stacks with ids of containers that another host has too are fine", () => {
  expect(chooseFleet([one, two], "up").stacks.map(({ name }) => name)).toEqual(["one", "two"]);
});

test("a stack that is left out otherwise is taken when it is named", () => {
  expect(chooseFleet(["kpro6"], "preview").stacks).toHaveLength(1);
});

test("all problems of all stacks in one answer, before anything is run", () => {
  const bad = stackFile("bad", { host: "10.77.0.7", container: "10.77.0.131/24" }, (text) =>
    text.replace("vmId: 129", "vmId: 12"),
  );
  const worse = stackFile("worse", { host: "10.77.0.8", container: "10.77.0.132/24" }, (text) =>
    text.replace("cores: 2", "cores: none"),
  );
  for (const purpose of ["preview", "up", "drift"] as const) {
    const message = refusal([one, bad, worse], purpose);
    expect(message).toMatch(/^nothing was run on any stack/);
    expect(message).toContain("containers.ml.vmId is 12");
    expect(message).toContain("containers.ml.cores");
    expect(message).not.toContain("Pulumi.one.yaml");
  }
});

test("what was never recorded refuses `up`, what SSH needs also `drift`, and nothing a preview", () => {
  expect(refusal(["kpro5"], "up")).toContain("gpus.a6000-0.uuid is unknown");
  expect(refusal(["kpro5"], "drift")).toContain("host.hostKey is unknown");
  expect(refusal(["kpro5"], "drift")).not.toContain("gpus.a6000-0.uuid");
  expect(chooseFleet(["kpro5"], "preview").stacks).toHaveLength(1);
});

test("a retired stack is not deployed by mistake", () => {
  const retired = stackFile("retired", { host: "10.77.0.12", container: "10.77.0.133/24" }, (text) =>
    text.replace("config:\n", 'config:\n  proxmox-gpu-stack:retired: "2026-11-30"\n'),
  );
  expect(refusal([retired], "up")).toContain("taken out of service");
});

test("two files of one stack are refused: the backend knows one stack of that name", () => {
  const other = mkdtempSync(path.join(folder, "other-"));
  const copy = path.join(other, "Pulumi.one.yaml");
  writeFileSync(copy, readFileSync(one));
  expect(() => chooseFleet([one, copy], "preview")).toThrow("are both files of the stack one");
});

describe("stacks that would disturb each other", () => {
  test("two that name one host are refused for `up` by name, and previewed", () => {
    const again = stackFile("again", { host: "10.77.0.5", container: "10.77.0.140/24" });
    expect(refusal([one, again], "up")).toContain("one and again both name the host 10.77.0.5:22");
    expect(chooseFleet([one, again], "preview").stacks).toHaveLength(2);
  });

  test("hosts behind one address are told apart by their ports", () => {
    const forwarded = stackFile("forwarded", { host: "10.77.0.5", container: "10.9.0.1/24" }, (text) =>
      text.replace("address: 10.77.0.5", "address: 10.77.0.5\n    sshPort: 2222"),
    );
    expect(chooseFleet([one, forwarded], "up").stacks).toHaveLength(2);
  });

  test("an address that two containers have on one network is refused for `up`", () => {
    const twin = stackFile("twin", { host: "10.77.0.9", container: "10.77.0.129/24" });
    expect(refusal([one, twin], "up")).toContain(
      "10.77.0.129 is the address of container ml in one and of container ml in twin",
    );
  });

  test("a container with the address of another stack's host is refused for `up`", () => {
    const host = stackFile("taker", { host: "10.77.0.9", container: "10.77.0.5/24" });
    expect(refusal([one, host], "up")).toContain(
      "10.77.0.5 is the address of host pve1 in one and of container ml in taker",
    );
  });

  test("containers behind a bridge of their host's own may have the addresses of others", () => {
    const inside = stackFile("inside", { host: "10.77.0.10", container: "192.168.7.2/24" });
    const outside = stackFile("outside", { host: "10.77.0.11", container: "192.168.7.2/24" });
    expect(chooseFleet([inside, outside], "up").stacks).toHaveLength(2);
  });
});
