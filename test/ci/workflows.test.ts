import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PROJECT_DIRECTORY } from "../../config/load";
import { TemporaryCheckout } from "./support/checkout";
import { Runner, type RunStep } from "./support/runner";
import { workflow, WORKFLOWS, workflowText, type Job } from "./support/workflow";

const jobs = WORKFLOWS.flatMap((file) =>
  Object.entries(workflow(file).jobs).map(([name, job]) => [file, name, job] as [string, string, Job]),
);

/** What keeps a job away from pull requests of forks. */
const NO_FORKS = "github.event.pull_request.head.repo.full_name == github.repository";

describe("every workflow", () => {
  test.each(WORKFLOWS)("%s pins every action by its commit and says which version that is", (file) => {
    const uses = workflowText(file).match(/uses: .*$/gm) ?? [];
    expect(uses.length).toBeGreaterThan(0);
    for (const line of uses) expect(line).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test("pins an action to one commit everywhere", () => {
    const uses = WORKFLOWS.flatMap((file) => workflowText(file).match(/(?<=uses: ).*$/gm) ?? []);
    const actions = new Set(uses.map((line) => line.split("@")[0]));
    expect(new Set(uses).size).toBe(actions.size);
  });

  test.each(WORKFLOWS)("%s gives no permission but what a job states", (file) => {
    expect(workflow(file).permissions).toEqual({});
  });

  test.each(jobs)(
    "%s: %s states its permissions, its time limit, and keeps no token in the checkout",
    (_, __, job) => {
      expect(job.permissions).toBeDefined();
      expect(job["timeout-minutes"]).toBeGreaterThan(0);
      for (const step of job.steps.filter(({ uses }) => uses?.startsWith("actions/checkout@")))
        expect(step.with?.["persist-credentials"]).toBe(false);
    },
  );

  test.each(WORKFLOWS)(
    "%s runs no code of a fork with rights of this repository, and names no address",
    (file) => {
      expect(Object.keys(workflow(file).on)).not.toContain("pull_request_target");
      expect(Object.keys(workflow(file).on)).not.toContain("workflow_run");
      expect(workflowText(file)).not.toMatch(/https?:|registry/);
    },
  );

  test.each(jobs)("%s: %s has secrets and write access only where forks are kept away", (_, __, job) => {
    const trusted =
      /secrets\.|vars\./.test(JSON.stringify(job)) || Object.values(job.permissions ?? {}).includes("write");
    if (trusted) expect(job.if).toContain(NO_FORKS);
    else expect(job.environment).toBeUndefined();
  });

  test.each(jobs)("%s: %s puts no text of the event into a script", (_, __, job) => {
    // A title or description in `${{ }}` within a script would be run.
    for (const { run } of job.steps) expect(run ?? "").not.toContain("${{");
  });

  test.each(jobs)("%s: %s uses no cache that another pull request could fill", (_, __, job) => {
    for (const { uses, with: options } of job.steps) {
      if (uses?.startsWith("actions/setup-node@")) expect(options?.["package-manager-cache"]).toBe(false);
      if (uses?.startsWith("actions/setup-go@")) expect(options?.["cache"]).toBe(false);
      expect(uses ?? "").not.toContain("actions/cache@");
    }
  });

  test("a job that may write comments runs nothing of the pull request", () => {
    const writers = jobs.filter(([, , job]) => Object.values(job.permissions ?? {}).includes("write"));
    expect(writers.map(([, name]) => name)).toEqual(["comment"]);
    const [checkout] = writers[0]?.[2].steps ?? [];
    expect(checkout?.with?.["ref"]).toBe("${{ github.event.pull_request.base.sha }}");
    expect(JSON.stringify(writers[0]?.[2])).not.toContain("secrets.");
  });

  test("previews with the engine that package.json pins", () => {
    const { dependencies } = JSON.parse(
      readFileSync(path.join(PROJECT_DIRECTORY, "package.json"), "utf8"),
    ) as {
      dependencies: Record<string, string>;
    };
    expect(workflowText("preview.yml")).toContain(
      `pulumi-version: ${dependencies["@pulumi/pulumi"] ?? ""}\n`,
    );
  });
});

interface Comment {
  id: number;
  user: { login: string };
  body: string;
}

describe("the shell steps of preview.yml", () => {
  const { jobs: steps } = workflow("preview.yml");
  let checkout: TemporaryCheckout;
  let runner: Runner;

  const job = (name: string): Job => steps[name] as Job;
  const comments = (): Comment[] =>
    JSON.parse(readFileSync(checkout.path(".git/comments.json"), "utf8")) as Comment[];
  const setComments = (list: Comment[]): void =>
    writeFileSync(checkout.path(".git/comments.json"), JSON.stringify(list));

  /** A pulumi that knows the stack lab and says what the real engine said of such a change. */
  function previewSays(recorded: string, status = 0): void {
    const file = path.join(__dirname, "previews", recorded);
    runner.stub(
      "pulumi",
      `[[ $1 == stack ]] && { echo '[{"name": "owner/lab"}]'; exit 0; }
      [[ "$*" == "preview --stack lab --json --non-interactive" ]] || exit 9
      cat ${file} 2>/dev/null || echo "error: no connection to the backend" >&2
      exit ${status}`,
    );
  }

  const preview = (description = ""): RunStep[] =>
    runner.run(job("preview"), {
      "matrix.stack": "lab",
      "github.event.pull_request.body": description,
      "vars.PULUMI_BACKEND_URL": "file:///nowhere",
      "secrets.PULUMI_ACCESS_TOKEN": "",
      "secrets.PULUMI_CONFIG_PASSPHRASE": "secret-passphrase",
    });
  const comment = (stacks = '["lab"]'): RunStep[] =>
    runner.run(job("comment"), {
      "github.token": "token",
      "github.event.pull_request.number": "7",
      "needs.changed.outputs.stacks": stacks,
    });
  const written = (): string => readFileSync(checkout.path("review/lab.preview.md"), "utf8");

  beforeAll(() => {
    checkout = new TemporaryCheckout();
    runner = new Runner(checkout);
    const gh = path.join(__dirname, "support/gh");
    runner.stub("gh", `COMMENTS=${checkout.path(".git/comments.json")} exec ${gh} "$@"`);
    setComments([
      { id: 1, user: { login: "somebody" }, body: "<!-- proxmox-gpu-stack preview lab -->\nmine" },
    ]);
    const file = checkout.path("Pulumi.lab.yaml");
    writeFileSync(
      file,
      readFileSync(file, "utf8").replace(/servedModelName: .*/, "servedModelName: renamed"),
    );
    checkout.commit("Rename the model");
  });
  afterAll(() => checkout.remove());

  test("name the stack whose file changed, and no other", () => {
    const ran = runner.run(job("changed"), {});
    expect(ran).toMatchObject([{ status: 0 }]);
    expect(ran[0]?.output).toContain("lab: Pulumi.lab.yaml");
    expect(runner.output("stacks")).toBe('["lab"]');
  });

  test("show without any secret what differs in its files, as a job summary too", () => {
    const ran = runner.run(job("files"), { "matrix.stack": "lab" });
    expect(ran.map(({ status }) => status)).toEqual([0, 0]);
    const text = readFileSync(checkout.path("review/lab.rendered.md"), "utf8");
    expect(text).toMatch(/^<!-- proxmox-gpu-stack rendered lab -->\n/);
    expect(text).toContain("1 step will run: `qwen-service`.");
    expect(text).toMatch(/^\+.*--served-model-name renamed/m);
    expect(runner.jobSummary()).toBe(text);
  });

  test("pass with a preview that only updates, and leave nothing of pulumi's output behind", () => {
    previewSays("update.json");
    expect(preview().map(({ status }) => status)).toEqual([0, 0]);
    expect(written()).toMatch(/^<!-- proxmox-gpu-stack preview lab -->\n### Preview of `lab`: 11 to update/);
    expect(written()).toContain("`arguments`");
    expect(checkout.git("status", "--porcelain", "--", ".", ":!review")).toBe("");
  });

  test("write two comments, and renew them in place the next time", () => {
    expect(comment()).toMatchObject([{ status: 0, output: "" }]);
    expect(comments().map(({ user }) => user.login)).toEqual([
      "somebody",
      "github-actions[bot]",
      "github-actions[bot]",
    ]);
    previewSays("replace.json", 1);
    preview();
    expect(comment()).toMatchObject([{ status: 0 }]);
    const bodies = comments().map(({ body }) => body);
    expect(bodies).toHaveLength(3);
    // A comment of somebody else is never touched, whatever it says.
    expect(bodies[0]).toContain("mine");
    expect(bodies.filter((body) => body.includes("`ml-container` is protected"))).toHaveLength(1);
  });

  test("fail when a protected container would be replaced, and say which line allows it", () => {
    previewSays("replace.json", 1);
    const ran = preview("Moves the disk");
    expect(ran.map(({ status }) => status)).toEqual([1, 0]);
    expect(ran[0]?.output).toContain("ml-container is protected, and this would replace it");
    expect(written()).toContain("because of `disk.datastoreId`");
    expect(written()).toContain("allow-replace: lab/ml-container");
  });

  test("pass when the description allows it", () => {
    previewSays("replace.json", 1);
    expect(preview("Moves the disk\r\n\r\nallow-replace: lab/ml-container\r\n")[0]?.status).toBe(0);
    expect(written()).toContain("The description allows it");
  });

  test("fail when a protected container would be deleted, also when another is allowed", () => {
    previewSays("delete.json", 1);
    expect(preview("allow-replace: kpro5/ml-container")[0]?.status).toBe(1);
    expect(written()).toContain("`ml-container` is protected, and would be deleted.");
  });

  test("fail with pulumi's error when there is no preview at all", () => {
    previewSays("nothing.json", 255);
    expect(preview()[0]?.status).toBe(1);
    expect(written()).toContain("no connection to the backend");
  });

  test("pass for a stack that was never deployed", () => {
    runner.stub("pulumi", "[[ $1 == stack ]] && echo '[]'");
    expect(preview()[0]?.status).toBe(0);
    expect(written()).toContain("not deployed");
  });

  test("say of a stack that is no longer touched that it is not", () => {
    expect(comment('["kpro5"]')).toMatchObject([{ status: 0 }]);
    expect(comments().filter(({ body }) => body.includes("no longer touched"))).toHaveLength(2);
  });
});

test("the shell steps of ci.yml check every stack file", () => {
  const checkout = new TemporaryCheckout();
  try {
    const runner = new Runner(checkout);
    // What npm's service and the lab say is not this test's business, but that they are asked is.
    for (const program of ["npm", "sudo"]) runner.stub(program, `echo "${program} $*"`);
    runner.stub("pipx", `echo "pipx $*" >&2; echo '{"dependencies": []}'`);
    const { jobs: steps } = workflow("ci.yml");
    const ran = Object.values(steps).flatMap((job) => runner.run(job, {}));
    expect(ran.map(({ status }) => status)).toEqual(ran.map(() => 0));
    const output = ran.map(({ output: text }) => text).join("");
    for (const stack of ["example", "kpro5", "kpro6", "lab"])
      expect(output).toContain(`Pulumi.${stack}.yaml: 0 errors`);
    expect(output).toMatch(/^npm audit --omit=dev --audit-level=high$/m);
    expect(output).toMatch(
      /^pipx run pip-audit==\S+ .*environments\/qwen36-sglang-0\.5\.11\/requirements\.lock/m,
    );
    expect(output).toMatch(/^sudo .*\.ci\/run$/m);
  } finally {
    checkout.remove();
  }
});
