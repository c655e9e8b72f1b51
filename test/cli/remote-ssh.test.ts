import { sshProblem } from "../../cli/remote/ssh";

test.each([
  ["ssh: connect to host 192.0.2.5 port 22: Connection timed out", 4, "cannot be reached"],
  ["ssh: Could not resolve hostname pve: Name or service not known", 4, "cannot be reached"],
  ["root@192.0.2.5: Permission denied (publickey).", 1, "does not accept the key"],
  ["Host key verification failed.", 1, "another host key"],
  ['Load key "/tmp/k": error in libcrypto', 1, "private key cannot be used"],
])("%s ends with exit code %d", (stderr, exitCode, what) => {
  const problem = sshProblem("192.0.2.5", `Warning: something\n${stderr}\n`);
  expect(problem).toMatchObject({ exitCode, what: expect.stringContaining(what) as string });
  expect(problem.fix).not.toBe("");
});
