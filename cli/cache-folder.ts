import { homedir } from "node:os";
import path from "node:path";

/** Folder of what is kept between runs of this program, its lab and its tests: PROXMOX_GPU_STACK_CACHE, or one in the home folder. */
export function cacheFolder(): string {
  return process.env["PROXMOX_GPU_STACK_CACHE"] ?? path.join(homedir(), ".cache/proxmox-gpu-stack");
}
