import { readUnit, serverCommand, words } from "../../../cli/adopt/unit";

test.each([
  [`a "b c" 'd e'f`, ["a", "b c", "d ef"]],
  [`a\\ b "x\\"y" ''`, ["a b", 'x"y', ""]],
  ["  ", []],
])("%j is split as systemd splits it", (text, expected) => {
  expect(words(text)).toEqual(expected);
});

test("drop-ins come last: an empty ExecStart= takes back the one before", () => {
  const text =
    "[Service]\nExecStart=/bin/old\n\n# /etc/x.conf\n[Service]\nExecStart=\nExecStart=-/bin/new \\\n# why\n  --a\n";
  expect(readUnit(text).command).toEqual(["/bin/new", "--a"]);
});

test("variables of the unit are filled in, dollars and percent signs unescaped", () => {
  const text =
    "[Service]\nEnvironment=PORT=8000 'ARGS=--tp 2'\nExecStart=/bin/x --port=${PORT} $ARGS cost$$5 100%%\n";
  expect(readUnit(text).command).toEqual(["/bin/x", "--port=8000", "--tp", "2", "cost$5", "100%"]);
});

test("settings of other sections do not count", () => {
  expect(readUnit("[Unit]\nExecStart=/bin/no\n[Service]\nExecStart=/bin/yes\n").command).toEqual([
    "/bin/yes",
  ]);
});

test.each([
  [["/v/bin/python3", "-m", "sglang.launch_server", "--port", "1"], "/v/bin/python3", ["--port", "1"]],
  [["/v/bin/sglang", "serve", "--port", "1"], "/v/bin/sglang", ["--port", "1"]],
  [["/usr/bin/env", "A=b", "/v/bin/python", "-m", "sglang.launch_server"], "/v/bin/python", []],
])("%j runs SGLang's server", (command, program, args) => {
  expect(serverCommand(command)).toMatchObject({ program, args });
});

test("variables that env sets count", () => {
  expect(
    serverCommand(["/usr/bin/env", "A=b c", "/v/bin/python", "-m", "sglang.launch_server"])?.environment,
  ).toEqual({
    A: "b c",
  });
});

test.each([[["/usr/bin/python3", "-m", "http.server"]], [["/bin/bash", "-c", "sglang"]], [[]]])(
  "%j runs none",
  (command) => {
    expect(serverCommand(command)).toBeUndefined();
  },
);
