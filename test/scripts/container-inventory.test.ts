import { scriptText } from "../../plan/script";
import { Sandbox } from "./bash";

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
  sandbox.command("systemctl", 'case $1 in cat) echo "text of ${!#}" ;; show) echo 0 ;; *) exit 1 ;; esac');
});
afterEach(() => {
  sandbox.remove();
});

function look() {
  const args = ["mode=check", `root=${sandbox.folder}`, "mounts=/models"];
  return sandbox.step(["step", "json"], scriptText("container/inventory.sh"), args).json;
}

it("finds units that may run a server, but none of a stack's and none of other kinds", () => {
  sandbox.write(
    "etc/systemd/system/llm.service",
    "ExecStart=/root/ml-env/bin/python3 -m sglang.launch_server\n",
  );
  sandbox.write("etc/systemd/system/backup.service", "ExecStart=/usr/bin/rsync\n");
  sandbox.write("etc/systemd/system/sglang-a.service", "EnvironmentFile=/etc/proxmox-gpu-stack/a python\n");
  expect(look()["units"]).toEqual([
    { name: "llm.service", state: "0", enabled: "", text: "text of llm.service", running: [] },
  ]);
});

it("tells an environment's Python and packages, and not of those that a stack built", () => {
  for (const folder of ["root/ml-env", "opt/proxmox-gpu-stack/environments/x"]) {
    sandbox.write(`${folder}/pyvenv.cfg`, "home = /usr/bin\nversion = 3.11.2\n");
    sandbox.write(
      `${folder}/lib/python3.11/site-packages/flashinfer_python-0.6.8.post1.dist-info/METADATA`,
      "",
    );
  }
  expect(look()["environments"]).toEqual([
    { path: "/root/ml-env", python: "3.11", packages: ["flashinfer_python==0.6.8.post1"] },
  ]);
});

it("tells the commit of a model where its download noted it", () => {
  const commit = "c".repeat(40);
  sandbox.write("models/a/config.json", "{}");
  sandbox.write("models/a/.cache/huggingface/download/config.json.metadata", `${commit}\nsha\n`);
  sandbox.write("models/b/config.json", "{}");
  expect(look()["models"]).toEqual([
    { path: "/models/a", revision: commit },
    { path: "/models/b", revision: "" },
  ]);
});
