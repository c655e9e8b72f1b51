import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

import { PROJECT, type LabStack } from "./lab-stack";

const ENVIRONMENTS = join(PROJECT, "environments");

/** What CUDA's installer of the lab holds for compiling. */
const COMPONENTS = ["cuda_cccl", "cuda_crt", "cuda_cudart", "cuda_nvcc", "libnvvm"];

/** Copies of environments/kernel-wheel-lab with a change, for as long as a test runs. */
export class Variants {
  private readonly names: string[] = [];

  /** A copy in which `change` did something. @returns its name, for `lock` */
  make(change: (folder: string) => void): string {
    const folder = mkdtempSync(join(ENVIRONMENTS, "tmp-kernel-wheel-"));
    // mkdtemp's random part may have capitals, which no environment's name has.
    const name = basename(folder).toLowerCase();
    rmSync(folder, { recursive: true });
    cpSync(join(ENVIRONMENTS, "kernel-wheel-lab"), join(ENVIRONMENTS, name), { recursive: true });
    this.names.push(name);
    change(join(ENVIRONMENTS, name));
    return name;
  }

  remove(): void {
    for (const name of this.names) rmSync(join(ENVIRONMENTS, name), { recursive: true, force: true });
  }
}

/** Replaces a text in a file; a text that is not there is a fault of the test. */
export function replace(file: string, from: string, to: string): void {
  const text = readFileSync(file, "utf8");
  if (!text.includes(from)) throw new Error(`${file} does not hold ${from}`);
  writeFileSync(file, text.replace(from, to));
}

function made(command: string, ...args: string[]): string {
  const result = spawnSync(join(PROJECT, "lab", "kernel-wheel", command), args, { encoding: "utf8" });
  if (result.status !== 0) throw new Error(`${command}: ${result.stdout}${result.stderr}`);
  return result.stdout;
}

/** Puts sources, packages and a toolkit installer on the lab's file server and makes the stack use them. */
export function useKernelWheel(stack: LabStack): void {
  const files = join(stack.folder, "run", "www");
  mkdirSync(join(files, "cuda"), { recursive: true });
  made("publish", join(files, "wheelhouse"));
  const sha256 = made("build-toolkit", join(files, "cuda")).slice(0, 64);
  stack.edit((file) => {
    file.wheelhouse = { path: "/srv/wheelhouse", mirror: `http://${stack.subnet}.1:8080/wheelhouse` };
    file.toolkits = {
      "cuda-13": {
        version: "13.0.2",
        installer: { url: `http://${stack.subnet}.1:8080/cuda/cuda_{version}_linux.run`, sha256 },
        components: COMPONENTS,
      },
    };
  });
}
