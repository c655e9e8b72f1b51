import { findingText } from "../../../cli/doctor";
import { ok, problem, warning } from "../../../cli/doctor/finding";

const COMMAND = `pulumi config set --path 'proxmox-gpu-stack:containers.${"a".repeat(40)}.network.address' ADDRESS/PREFIX`;

test("problems stand last, and every fix is whole and under its number", () => {
  const text = findingText([
    problem("address", "somebody answers", COMMAND),
    ok("node", "the node is pve1"),
    warning("clock", "nothing synchronises it", "apt-get install chrony"),
  ]);
  const order = ["node", "clock", "address"].map((id) => text.indexOf(`│ ${id}`));
  expect(order).toEqual([...order].sort((a, b) => a - b));
  expect(text).toMatch(/│ clock +│ warning 1 /);
  expect(text).toMatch(/│ address +│ problem 2 /);
  expect(text.split("\n").slice(-2)).toEqual(["1. apt-get install chrony", `2. ${COMMAND}`]);
});

test("where everything is fine there is nothing to do", () => {
  expect(findingText([ok("node", "the node is pve1")])).not.toContain("what to do");
});
