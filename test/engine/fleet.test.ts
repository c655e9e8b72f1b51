/** `./stack fleet` with the real engine, on stacks whose hosts are only open or closed ports. */
import { spawn, type ChildProcess } from "node:child_process";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROJECT_DIRECTORY } from "../../config/load";
import { describeWith } from "./support/requirement";
import { engineEnvironment, engineMissing } from "./support/test-stack";

// Each stack takes an engine and a program; a busy machine needs several times as long.
jest.setTimeout(300_000);

const SSH_PORT = 2222;
const API_PORT = 8006;
/** Loopback addresses of this test run's own: the port of the API is fixed. */
const NETWORK = `127.${100 + (process.pid % 100)}.${(process.pid >> 7) % 250}`;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Outcome {
  readonly stack: string;
  readonly result: string;
  readonly changes: Record<string, number>;
  readonly log: string | null;
  readonly failures: { message: string; fix: string }[];
}

describeWith(engineMissing(), "./stack fleet with the real engine", () => {
  const folder = mkdtempSync(join(tmpdir(), "fleet-"));
  const files: Record<string, string> = {};
  let environment: NodeJS.ProcessEnv;
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  let dialled = 0;
  /** Whether the slow ports have begun to end connections. */
  let ending = false;

  const pulumi = (...words: string[]): string =>
    execFileSync("pulumi", [...words, "--non-interactive"], {
      cwd: folder,
      env: environment,
      encoding: "utf8",
    });

  /** A stack like the lab's, whose host is one of our loopback addresses. */
  function stackFile(name: string, octet: number): void {
    const text = readFileSync(join(PROJECT_DIRECTORY, "Pulumi.lab.yaml"), "utf8");
    files[name] = join(folder, `Pulumi.${name}.yaml`);
    writeFileSync(
      files[name],
      text
        .replaceAll("file:.lab/SHA256SUMS", "a".repeat(64))
        .replace("address: 10.77.0.5", `address: ${NETWORK}.${octet}\n    sshPort: ${SSH_PORT}`)
        .replace("10.77.0.129/24", `10.77.0.${octet}/24`),
    );
  }

  /** @param slow connections stay open without an answer until `endSlow` */
  async function listen(octet: number, port: number, slow: boolean): Promise<void> {
    const server = createServer((socket) => {
      dialled += 1;
      sockets.add(socket.on("error", () => undefined));
      if (!slow || ending) socket.destroy();
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(port, `${NETWORK}.${octet}`, resolve));
  }

  beforeAll(async () => {
    const shared = engineEnvironment();
    // What is selected is kept in Pulumi's home, and this test looks at it.
    mkdirSync(join(folder, "home"));
    symlinkSync(join(String(shared["PULUMI_HOME"]), "plugins"), join(folder, "home/plugins"));
    mkdirSync(join(folder, "state"));
    environment = {
      ...shared,
      PULUMI_HOME: join(folder, "home"),
      PULUMI_BACKEND_URL: `file://${join(folder, "state")}`,
      XDG_STATE_HOME: join(folder, "logs"),
    };
    copyFileSync(join(PROJECT_DIRECTORY, "Pulumi.yaml"), join(folder, "Pulumi.yaml"));
    stackFile("closed", 150);
    stackFile("broken", 151);
    stackFile("slow", 152);
    stackFile("next", 153);
    stackFile("unknown", 154);
    for (const name of ["closed", "broken", "slow", "next"]) pulumi("stack", "init", name);
    pulumi("stack", "select", "next", "--cwd", PROJECT_DIRECTORY);
    await listen(151, SSH_PORT, false);
    await listen(151, API_PORT, false);
    for (const octet of [152, 153]) {
      await listen(octet, SSH_PORT, true);
      await listen(octet, API_PORT, true);
    }
  });

  function endSlow(): void {
    ending = true;
    for (const socket of sockets) socket.destroy();
  }

  afterAll(() => {
    endSlow();
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** @param watch gets the process and all of its standard error so far, as it comes */
  function fleet(
    words: readonly string[],
    watch?: (child: ChildProcess, stderr: string) => void,
  ): Promise<Ended> {
    return new Promise((resolve) => {
      const child = spawn(join(PROJECT_DIRECTORY, "stack"), ["fleet", ...words], {
        env: environment,
        // As a shell starts it: Ctrl-C on its terminal reaches its whole group.
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let [stdout, stderr] = ["", ""];
      child.stdout.on("data", (text: Buffer) => (stdout += text.toString()));
      child.stderr.on("data", (text: Buffer) => {
        stderr += text.toString();
        watch?.(child, stderr);
      });
      child.on("close", (code) => resolve({ code, stdout, stderr }));
    });
  }

  const outcomes = (stdout: string): Outcome[] => (JSON.parse(stdout) as { stacks: Outcome[] }).stacks;

  test("a preview shows every stack, names one that the backend lacks, dials nobody and leaves everything as it was", async () => {
    const before = Object.values(files).map((file) => readFileSync(file, "utf8"));
    const { code, stdout, stderr } = await fleet([
      "preview",
      ...["closed", "slow", "unknown"].map((name) => files[name] ?? ""),
      "--json",
    ]);
    const [closed, slow, unknown] = outcomes(stdout);
    for (const found of [closed, slow]) {
      expect(found).toMatchObject({ result: "would change", failures: [] });
      // As `pulumi preview` counts, without components and providers.
      expect(found?.changes).toEqual({ create: 14, update: 0, replace: 0, delete: 0, same: 0 });
    }
    expect(unknown).toMatchObject({
      result: "failed",
      failures: [
        {
          message: "no stack named 'unknown' found",
          fix: expect.stringMatching(/^pulumi stack init unknown/),
        },
      ],
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^closed {3}would create driver-install$/m);
    expect(dialled).toBe(0);
    expect(Object.values(files).map((file) => readFileSync(file, "utf8"))).toEqual(before);
    expect(existsSync(join(PROJECT_DIRECTORY, "Pulumi.closed.yaml"))).toBe(false);
    // A bare `pulumi up` still means what it meant before.
    expect(pulumi("stack", "--show-name", "--cwd", PROJECT_DIRECTORY).trim()).toBe("next");
  });

  test("each stack's log is its owner's, tells what Pulumi printed, and holds no secret", () => {
    const parent = join(folder, "logs/proxmox-gpu-stack/fleet");
    const run = join(parent, readdirSync(parent)[0] ?? "");
    expect(readdirSync(run).sort()).toEqual(["closed.log", "slow.log", "unknown.log"]);
    const log = readFileSync(join(run, "closed.log"), "utf8");
    expect(log).toContain("command:remote:Command driver-install create");
    expect(log).not.toMatch(/lab-root-pw|PRIVATE KEY/);
    expect(statSync(join(run, "closed.log")).mode & 0o777).toBe(0o600);
    expect(statSync(run).mode & 0o777).toBe(0o700);
  });

  test("an up that nobody can agree to runs nothing", async () => {
    const { code, stderr } = await fleet(["up", files["closed"] ?? ""]);
    expect(stderr).toBe("stack: nobody can be asked here: write --yes; nothing was run on any stack\n");
    expect(code).toBe(3);
  });

  test("a host that is not there and a stack that fails are told apart, each by name", async () => {
    const words = ["closed", "broken"].map((name) => files[name] ?? "");
    const { code, stdout } = await fleet(["up", "--yes", ...words, "--json"]);
    const [closed, broken] = outcomes(stdout);
    expect(closed).toMatchObject({ result: "unreachable" });
    expect(closed?.failures[0]?.message).toBe(
      `pve1 (${NETWORK}.150:${SSH_PORT}) cannot be reached: connect ECONNREFUSED ${NETWORK}.150:${SSH_PORT}; nothing was changed there`,
    );
    expect(broken).toMatchObject({ result: "failed" });
    expect(broken?.failures.map(({ message }) => message).join()).toMatch(/^template-debian-12/);
    expect(code).toBe(1);
  });

  test("^C on a terminal ends what runs properly, starts nothing more, and says which stack is in which state", async () => {
    let pressed = false;
    const words = ["slow", "next"].map((name) => files[name] ?? "");
    const { code, stdout, stderr } = await fleet(
      ["up", "--yes", "--parallel", "1", ...words, "--json"],
      (child, text) => {
        if (!pressed && /^slow {2}creating template/m.test(text)) {
          pressed = true;
          process.kill(-Number(child.pid), "SIGINT");
        }
        // What runs is waited for: here, until its host answers something.
        if (text.includes("^C: no further stack is started")) endSlow();
      },
    );
    const [slow, next] = outcomes(stdout);
    expect(slow).toMatchObject({
      result: "cancelled",
      failures: [
        {
          message: "ended by Ctrl-C: what was being done is over, and the state knows how it ended",
          fix: "./stack fleet up slow goes on from there",
        },
      ],
    });
    expect(next).toMatchObject({ result: "not started" });
    expect(stderr).toContain("^C: no further stack is started");
    expect(code).toBe(1);
    // Once, although the terminal's signal and ours could both have come.
    const log = readFileSync(slow?.log ?? "", "utf8");
    expect(log.match(/\^C received/g)).toHaveLength(1);
    expect(log).toContain("^C received; cancelling");
    // The backend's lock is free again.
    expect(() => pulumi("stack", "export", "--stack", "slow")).not.toThrow();
  });
});
