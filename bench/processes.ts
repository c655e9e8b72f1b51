/** Processor time and memory of a command line and everything that it starts, by the kind of program. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks of /proc/PID/stat in a second, fixed in Linux's interface. */
const TICKS = 100;
const LOOK_EVERY_MS = 100;

export interface Used {
  /** User and system time, in seconds. */
  readonly cpu: number;
  /** Sum of the highest resident sizes of its processes, in MiB. */
  readonly peakMiB: number;
}

export interface Observed {
  readonly status: number | null;
  readonly seconds: number;
  readonly output: string;
  readonly programs: Readonly<Record<Program, Used>>;
}

/** Whose processes they are: the engine, our program, the providers with the language host, and whatever else. */
export type Program = "engine" | "program" | "providers" | "other";

interface Seen {
  readonly command: string;
  readonly cpu: number;
  readonly peakMiB: number;
}

/** A process as /proc shows it; undefined when it is gone. */
function look(pid: number): Seen | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the name, which may hold blanks; user and system time are the 12th and 13th then.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0";
    return {
      command: readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " "),
      cpu: (Number(fields[11]) + Number(fields[12])) / TICKS,
      peakMiB: Number(peak) / 1024,
    };
  } catch {
    return undefined;
  }
}

/** What the threads of a process have started and not collected yet. */
function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

function programOf(command: string): Program {
  if (/pulumi-(resource|language)-/.test(command)) return "providers";
  if (command.includes("@pulumi/pulumi/cmd/run")) return "program";
  return /^\S*\bpulumi /.test(command) ? "engine" : "other";
}

/** Looks at the descendants of a process until it is stopped; remembers the last that was seen of each. */
class Watch {
  private readonly seen = new Map<number, Seen>();
  private readonly timer = setInterval(() => this.round(), LOOK_EVERY_MS);

  constructor(private readonly root: number) {}

  private round(): void {
    const wanted = [this.root];
    for (let pid = wanted.pop(); pid !== undefined; pid = wanted.pop()) {
      const found = look(pid);
      if (found) this.keep(pid, found);
      wanted.push(...childrenOf(pid));
    }
  }

  /** One that has ended and is not collected yet has its time only: no command, no memory. */
  private keep(pid: number, found: Seen): void {
    const before = this.seen.get(pid);
    this.seen.set(pid, {
      ...found,
      command: found.command === "" ? (before?.command ?? "") : found.command,
      peakMiB: Math.max(found.peakMiB, before?.peakMiB ?? 0),
    });
  }

  stop(): Record<Program, Used> {
    clearInterval(this.timer);
    const programs = Object.fromEntries(
      ["engine", "program", "providers", "other"].map((name) => [name, { cpu: 0, peakMiB: 0 }]),
    ) as Record<Program, { cpu: number; peakMiB: number }>;
    for (const { command, cpu, peakMiB } of this.seen.values()) {
      const program = programs[programOf(command)];
      program.cpu += cpu;
      program.peakMiB += peakMiB;
    }
    return programs;
  }
}

/** Runs a command line to its end. */
export function observe(
  command: string,
  words: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<Observed> {
  const begun = Date.now();
  const child = spawn(command, words, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const watch = new Watch(child.pid ?? 0);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => {
      output += text.toString();
    });
  return new Promise((resolve) =>
    child.on("close", (status) =>
      resolve({ status, output, seconds: (Date.now() - begun) / 1000, programs: watch.stop() }),
    ),
  );
}
