import { failuresOf } from "../../../cli/fleet/failure";

/** As the command provider words the error of a step: everything that the machine printed, in one text. */
const STEP_FAILED = `Process exited with status 1: running "bash -s -- ": [0s] downloading

error: step driver-install on kpro6 failed
  cause: the installer has another checksum than the declared one
  next:  compare it with what NVIDIA publishes
`;

test("a step that failed is told with its machine, step, cause and way on, without what it printed before", () => {
  const [failure] = failuresOf("kpro6", [{ resource: "driver-install", message: STEP_FAILED }], "");
  expect(failure).toEqual({
    message: "step driver-install on kpro6 failed: the installer has another checksum than the declared one",
    fix: "compare it with what NVIDIA publishes",
  });
});

test("a step without a way on is told as it is", () => {
  const message = STEP_FAILED.replace(/ {2}next:.*\n/, "");
  expect(failuresOf("kpro6", [{ resource: "driver-install", message }], "")).toMatchObject([{ fix: "" }]);
});

test("another error is told with its resource", () => {
  const complaint = { resource: "ml-container", message: "error: 403 Permission check failed\n" };
  expect(failuresOf("kpro6", [complaint], "")).toEqual([
    { message: "ml-container: 403 Permission check failed", fix: "" },
  ]);
});

test.each([
  ["error: no stack named 'kpro6' found", /^pulumi stack init kpro6, or log in/],
  ["error: the stack is currently locked by 1 lock(s)", /pulumi cancel --stack kpro6$/],
  ["error: incorrect passphrase", /PULUMI_CONFIG_PASSPHRASE/],
])("what Pulumi says before its engine starts is the failure, with a way on: %s", (printed, fix) => {
  expect(failuresOf("kpro6", [], `${printed}\n`)).toEqual([
    { message: printed.replace("error: ", ""), fix: expect.stringMatching(fix) as string },
  ]);
});

test("endless texts are cut", () => {
  const [failure] = failuresOf("kpro6", [{ resource: "", message: "x".repeat(100_000) }], "");
  expect(failure?.message.length).toBeLessThan(2000);
});
