import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { NodeLayout } from "../node/layout.ts";

const milliseconds = z.number();

/** Durations of the parts of a start, in milliseconds. */
export const Timings = z.object({
  /** Finding, downloading or building the binaries. */
  binaries: milliseconds,
  etcd: milliseconds,
  /** From its start until `/readyz` succeeds. */
  apiserver: milliseconds,
  /** From its start until the default ServiceAccount exists, its first visible effect. */
  controllerManager: milliseconds,
  /**
   * From the start, without the binaries, until the default ServiceAccount exists: pods and tests
   * can start.
   */
  defaultServiceAccount: milliseconds,
  total: milliseconds,
});
export type Timings = z.infer<typeof Timings>;

/**
 * Description of a running control plane in its directory. Any process of the same user can use the
 * control plane with it.
 */
export const Handle = z.object({
  directory: z.string(),
  /** The supervisor's process id. It is also its process group. */
  pid: z.int(),
  server: z.string(),
  /** PEM of the certificate authority. */
  ca: z.string(),
  kubeconfig: z.string(),
  kubectl: z.string(),
  auditLog: z.string(),
  controlSocket: z.string(),
  /** The names and addresses of the cluster's node, if it has one, and its program `ctr`. */
  node: NodeLayout.extend({ ctr: z.string() }).optional(),
  users: z.array(z.object({ name: z.string(), groups: z.array(z.string()), token: z.string() })),
  timings: Timings,
});
export type Handle = z.infer<typeof Handle>;

export const handleFileName = "handle.json";

/**
 * Reads the handle of the control plane at `path`: its directory or its handle file.
 * @throws Error when there is no handle or the supervisor is not running
 */
export async function readHandle(path: string): Promise<Handle> {
  const file = (await stat(path)).isDirectory() ? join(path, handleFileName) : path;
  const handle = Handle.parse(JSON.parse(await readFile(file, "utf8")));
  try {
    process.kill(handle.pid, 0);
  } catch {
    throw new Error(`the control plane of ${file} is not running (process ${handle.pid})`);
  }
  return handle;
}
