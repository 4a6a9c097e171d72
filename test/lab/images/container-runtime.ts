import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { debianProgram } from "../tools/debian-program.ts";

const run = promisify(execFile);

/**
 * Returns the path of runc, the runtime under containerd, or why this machine cannot run containers,
 * in one line.
 */
export async function containerRuntime(): Promise<{ runc: string } | { why: string }> {
  if (process.platform !== "linux")
    return { why: `they need Linux, and this is ${process.platform}` };
  if (process.getuid?.() !== 0) return { why: "they need root, to start containers" };
  try {
    await run("unshare", ["--mount", "--pid", "--ipc", "--uts", "--fork", "true"]);
  } catch {
    return { why: "this machine permits root no namespaces (unshare)" };
  }
  const runc = await debianProgram("runc");
  return runc === undefined
    ? { why: "they need runc: apt-get install --no-install-recommends runc" }
    : { runc };
}
