/** What crosses the lab's bridge on SSH's port, as tcpdump sees it, and how many processes a lab's host makes. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { LabStack } from "../test/lab/stack/lab-stack";

export interface Traffic {
  readonly connections: number;
  /** Bytes to the machines, without headers. */
  readonly sent: number;
  /** Bytes from the machines. */
  readonly received: number;
}

/** Adds up the lines of `tcpdump -nn`: a connection is a SYN without an ACK. */
export function sumTraffic(lines: string): Traffic {
  const traffic = { connections: 0, sent: 0, received: 0 };
  for (const line of lines.split("\n")) {
    const [, to, flags, length] = / > \S+\.(\d+): Flags \[([^\]]*)\].* length (\d+)/.exec(line) ?? [];
    if (length === undefined) continue;
    if (to === "22") {
      if (flags === "S") traffic.connections += 1;
      traffic.sent += Number(length);
    } else {
      traffic.received += Number(length);
    }
  }
  return traffic;
}

/** Records SSH's packets on a lab's bridge until it is stopped. */
export class TrafficRecorder {
  private readonly folder = mkdtempSync(join(tmpdir(), "bench-traffic-"));
  private readonly file = join(this.folder, "packets");
  private readonly child: ChildProcess;

  constructor(subnet: string) {
    const bridge = `lab${subnet.replaceAll(".", "-")}`;
    const words = ["-i", bridge, "-s", "96", "-B", "8192", "-U", "-w", this.file, "tcp port 22"];
    this.child = spawn("tcpdump", words, { stdio: ["ignore", "ignore", "pipe"] });
  }

  /** Resolves when packets are seen. */
  async listening(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.child.stderr?.on("data", (text: Buffer) => {
        if (text.includes("listening on")) resolve();
      });
      this.child.on("error", reject);
      this.child.on("exit", (status) => reject(new Error(`tcpdump ended with ${status}`)));
    });
  }

  async stop(): Promise<Traffic> {
    // What was sent last may not be written yet.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const ended = new Promise((resolve) => this.child.on("exit", resolve));
    this.child.kill("SIGINT");
    await ended;
    const { stdout } = spawnSync("tcpdump", ["-nn", "-r", this.file], {
      encoding: "utf8",
      maxBuffer: 1 << 30,
    });
    rmSync(this.folder, { recursive: true });
    return sumTraffic(stdout);
  }
}

/** The number that the host gave to its newest process. Its processes have numbers of their own, in order, from its boot on. */
export function newestProcess(lab: LabStack): number {
  return Number(lab.onHost("sh -c 'echo $$'"));
}
