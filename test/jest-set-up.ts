import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Gives the test run a temporary folder of its own, which jest-tear-down.ts removes: whatever a test forgets there is gone.
 * Its name is short, since the paths of sockets in it may have 107 characters.
 */
export default function setUp(): void {
  process.env.TMPDIR = mkdtempSync(join(tmpdir(), "gpu-"));
}
