import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { takeNetwork } from "../network";

/** What a command printed and how it ended. */
export interface Result {
  status: number;
  stdout: string;
  stderr: string;
}

const labCommand = resolve(__dirname, "../../../lab/lab");

/** Runs a program and waits for it; nothing is thrown when it fails. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Result {
  const result = spawnSync(command, args, {
    encoding: "utf8",
    input: options.input ?? "",
    env: { ...process.env, ...options.env },
    timeout: options.timeoutSeconds === undefined ? undefined : options.timeoutSeconds * 1000,
    maxBuffer: 64 << 20,
  });
  if (result.error) {
    throw result.error;
  }
  return { status: result.status ?? 255, stdout: result.stdout, stderr: result.stderr };
}

/** Optional parts of running a program. */
export interface RunOptions {
  /** Text on standard input; nothing by default. */
  input?: string;
  /** Environment variables beside the test's own. */
  env?: Record<string, string>;
  /** Kills the program after so long; never by default. */
  timeoutSeconds?: number;
}

/** A lab of a test's own, on its own network and in a folder of its own, beside the one that a person may have up. */
export class TestLab {
  readonly directory: string;

  /** First three octets of its network. */
  readonly subnet: string;

  /**
   * @param env    more environment variables for the lab's commands
   * @param subnet by default one that nobody has
   */
  constructor(
    private readonly env: Record<string, string> = {},
    subnet?: string,
  ) {
    this.directory = mkdtempSync(join(tmpdir(), "lab-test-"));
    this.subnet = subnet ?? takeNetwork(this.directory);
  }

  /** Runs `lab ARGS…`. */
  run(...args: string[]): Result {
    return run(labCommand, args, {
      env: { LAB_SUBNET: this.subnet, LAB_DIR: this.directory, ...this.env },
      timeoutSeconds: 900,
    });
  }

  /** Runs `lab ARGS…` and gives its output; throws with all that it said when it fails. */
  ok(...args: string[]): string {
    const result = this.run(...args);
    if (result.status !== 0) {
      throw new Error(
        `lab ${args.join(" ")}: exit status ${result.status}\n${result.stdout}\n${result.stderr}`,
      );
    }
    return result.stdout;
  }

  /** Runs a script in bash on a host; both outputs are in stdout, in order. */
  shell(host: string, script: string): Result {
    return run(labCommand, ["shell", host, "bash -s 2>&1"], {
      input: `${script}\n`,
      env: { LAB_SUBNET: this.subnet, LAB_DIR: this.directory, ...this.env },
      timeoutSeconds: 900,
    });
  }

  /** Everything on this machine that belongs to this lab: bridge, cables, mounts, cgroups and processes. */
  traces(): string[] {
    const octets = this.subnet.split(".");
    const bridge = `lab${octets.join("-")}`;
    const veth = `lab${octets.map((octet) => Number(octet).toString(16).padStart(2, "0")).join("")}`;
    const lines = (text: string, ...words: string[]): string[] =>
      text.split("\n").filter((line) => words.some((word) => line.includes(word)));
    return [
      ...lines(run("ip", ["-br", "link"]).stdout, bridge, veth),
      ...lines(run("cat", ["/proc/self/mountinfo"]).stdout, this.directory),
      ...lines(run("find", ["/sys/fs/cgroup", "-maxdepth", "2", "-name", "lab*"]).stdout, bridge),
      ...lines(run("ps", ["-eo", "pid,args"]).stdout, this.directory, `${this.subnet}.1 `),
    ];
  }

  /** Takes the lab down and removes its folder. */
  end(): void {
    this.ok("down");
    rmSync(this.directory, { recursive: true });
  }
}
