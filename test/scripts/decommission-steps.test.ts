import { readFileSync } from "node:fs";

import { scriptText } from "../../plan/script";
import { Sandbox } from "./bash";

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
});
afterEach(() => {
  sandbox.remove();
});

/** A systemctl whose units have their state in files: ACTIVE and ENABLED hold names. */
function units(active: string, enabled: string): void {
  sandbox.write("active", active);
  sandbox.write("enabled", enabled);
  sandbox.command(
    "systemctl",
    `cd ${sandbox.folder}
echo "$*" >>calls
unit=\${@: -1}
case $* in
  *ActiveState*) if grep -qx "$unit" active; then echo active; else echo inactive; fi ;;
  is-enabled*) grep -qx "$unit" enabled ;;
  *disable*--now*) sed -i "/^$unit$/d" active enabled ;;
  *disable*) sed -i "/^$unit$/d" enabled ;;
  stop*) [[ ! -e stuck ]] || exit 1; sed -i "/^$unit$/d" active ;;
esac`,
  );
}

describe("stopping a service for good", () => {
  const SERVICE = "sglang-qwen.service";
  const TIMER = "sglang-qwen-probe.timer";
  const stop = (mode = "apply") =>
    sandbox.step(["step"], scriptText("container/service-stop.sh"), [
      `mode=${mode}`,
      `unit=${SERVICE}`,
      `timers=${TIMER}`,
    ]);

  it("ends the timer before the server, disables both, and finds nothing to do the second time", () => {
    units(`${SERVICE}\n${TIMER}\n`, `${SERVICE}\n${TIMER}\n`);
    expect(stop("check").json.differences).toEqual([
      `${TIMER} is active`,
      `${TIMER} is enabled`,
      `${SERVICE} is active`,
      `${SERVICE} is enabled`,
    ]);
    expect(stop().json).toEqual({ changed: true, state: "inactive" });
    const calls = readFileSync(sandbox.path("calls"), "utf8").split("\n");
    expect(calls.findIndex((call) => call.endsWith(`--now ${TIMER}`))).toBeLessThan(
      calls.indexOf(`stop ${SERVICE}`),
    );
    expect(stop().json.changed).toBe(false);
  });

  it("says when the server does not stop", () => {
    units(`${SERVICE}\n`, "");
    sandbox.write("stuck", "");
    expect(stop().stderr).toContain(`cause: ${SERVICE} does not stop`);
  });
});

describe("backing a container up", () => {
  /** Runs what `systemd-run` is given; vzdump prints what it is told. */
  function backUp(output: string, status = 0) {
    sandbox.command(
      "systemctl",
      "case $* in *Result*) cat result ;; *ActiveState*) echo inactive ;; *) exit 1 ;; esac".replace(
        "cat result",
        `cat ${sandbox.path("result")}`,
      ),
    );
    sandbox.command(
      "systemd-run",
      `while [[ $1 == --* ]]; do shift; done
if "$@" >>${sandbox.path("work")}/backup-129.log 2>&1; then echo success; else echo exit-code; fi >${sandbox.path("result")}`,
    );
    sandbox.command(
      "vzdump",
      `echo "$*" >${sandbox.path("words")}; printf '%s\\n' '${output}'; exit ${status}`,
    );
    const script = `LONG_WORK=${sandbox.path("work")}\n${scriptText("host/container-backup.sh")}`;
    return sandbox.step(["step", "long-work"], script, ["id=129", "storage=local", "run=1"]);
  }

  it.each([
    ["INFO: creating vzdump archive '/mnt/dump/vzdump-lxc-129.tar.zst'", "/mnt/dump/vzdump-lxc-129.tar.zst"],
    [
      "INFO: creating Proxmox Backup Server archive 'ct/129/2026-11-30T02:00:00Z'",
      "ct/129/2026-11-30T02:00:00Z",
    ],
  ])("reports the archive of %s", (line, archive) => {
    const { json } = backUp(`INFO: starting\n${line}\nINFO: done`.replaceAll("'", "'\\''"));
    expect(json).toEqual({ changed: true, archive });
    expect(readFileSync(sandbox.path("words"), "utf8")).toBe(
      "129 --storage local --mode stop --compress zstd\n",
    );
  });

  it("that fails repeats vzdump's own reason and names the way on", () => {
    const { status, stderr } = backUp("ERROR: Backup of VM 129 failed - no space left", 255);
    expect(status).toBe(1);
    expect(stderr).toContain("could not be backed up: ERROR: Backup of VM 129 failed - no space left");
    expect(stderr).toContain("pvesm status --content backup");
  });
});
