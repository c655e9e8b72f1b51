/** Services that are one part of a server over several containers: what one stack alone can tell. */
import { inspected, service } from "./support";

const PATH = "proxmox-gpu-stack:services.big";
const NODES = { count: 2, rank: 0, address: "192.0.2.129" };

function errors(changes: object, nodes: object = NODES, more: object = {}) {
  return inspected((keys) => {
    keys["services"] = { big: service({ nodes, ...changes }), ...more };
  }).problems.filter(({ severity }) => severity === "error");
}

test("a part takes the cards of all nodes into account", () => {
  expect(errors({})).toEqual([]);
  expect(errors({ tensorParallel: 4 })).toEqual([]);
  expect(errors({ tensorParallel: 6 })).toMatchObject([
    { id: "too-few-gpus", message: "must be at most 4, the number of the service's cards on 2 nodes" },
  ]);
});

test("rank above 0 names the address of another container", () => {
  expect(errors({}, { ...NODES, rank: 1, address: "192.0.2.77" })).toEqual([]);
  expect(errors({}, { ...NODES, rank: 1 })).toMatchObject([
    { id: "node-address", path: `${PATH}.nodes.address` },
  ]);
});

test("an address that nobody recorded is no problem of a preview", () => {
  expect(errors({}, { ...NODES, address: "unknown" })).toEqual([]);
});

test.each<[string, object, object, string, string]>([
  ["a rank beyond the last", {}, { ...NODES, rank: 2, address: "192.0.2.77" }, "node-rank", "nodes.rank"],
  ["a group of one", {}, { ...NODES, count: 1 }, "wrong-value", "nodes.count"],
  [
    "another container's address for rank 0",
    {},
    { ...NODES, address: "192.0.2.77" },
    "node-address",
    "nodes.address",
  ],
  ["GPUs that nodes cannot share evenly", { tensorParallel: 3 }, NODES, "nodes-uneven", "tensorParallel"],
  ["the service's own port as meeting point", { port: 20000 }, NODES, "duplicate-port", "nodes.port"],
  [
    "a group's flag in extraArgs",
    { extraArgs: ["--node-rank=1"] },
    NODES,
    "nodes-in-arguments",
    "extraArgs[0]",
  ],
  ["pipeline parallelism", { extraArgs: ["--pp-size=2"] }, NODES, "nodes-parallelism", "extraArgs[0]"],
])("%s is refused", (_, changes, nodes, id, field) => {
  expect(errors(changes, nodes)).toMatchObject([{ id, path: `${PATH}.${field}` }]);
});

test("a service without nodes that states a group's flag is told of the key", () => {
  const found = inspected((keys) => {
    keys["services"] = { big: service({ extraArgs: ["--nnodes=2"] }) };
  }).problems;
  expect(found).toMatchObject([{ id: "nodes-in-arguments", fix: `use ${PATH}.nodes` }]);
});
