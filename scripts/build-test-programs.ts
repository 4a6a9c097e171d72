/**
 * Builds the control plane, the tools and the programs of a node into the user's cache, as far as
 * they are missing and this machine can build them: while other tests run, with the processor time
 * that they leave. Ends with its standard input, together with the compiler.
 */
import { constants, setPriority } from "node:os";
import { provide } from "../test/lab/control-plane/binaries/provide.ts";
import { cacheDirectory, newest } from "../test/lab/control-plane/binaries/version.ts";
import { type Progress, terminalProgress } from "../test/lab/control-plane/progress.ts";
import { nodePrograms } from "../test/lab/node/programs.ts";
import { buildTools } from "../test/lab/tools/build-all.ts";

setPriority(constants.priority.PRIORITY_LOW);
process.stdin.resume().once("close", () => process.kill(-process.pid, "SIGINT"));

// The tests print more than enough in the meantime.
const progress: Progress = { ...terminalProgress(), update: () => {} };
const cache = cacheDirectory(newest);
try {
  await provide({ environment: process.env, release: newest, cache, progress });
  await buildTools(progress);
  if (process.platform === "linux" && process.getuid?.() === 0) await nodePrograms(progress);
} catch (error) {
  // The suite that needs the program tries again, and fails with the whole reason.
  progress.note(`Not built: ${error instanceof Error ? error.message : String(error)}`);
}
process.exit();
