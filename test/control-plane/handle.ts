import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const milliseconds = z.number();

/** How long each part of a start took, in milliseconds. */
export const Timings = z.object({
  /** To find, download or build the binaries. */
  binaries: milliseconds,
  etcd: milliseconds,
  /** To `/readyz`. */
  apiserver: milliseconds,
  /** From its start until the default ServiceAccount is there, its first visible work. */
  controllerManager: milliseconds,
  /** From the beginning of the start, binaries apart, to a default ServiceAccount: pods and tests can begin. */
  defaultServiceAccount: milliseconds,
  total: milliseconds,
});
export type Timings = z.infer<typeof Timings>;

/** A running control plane as its directory describes it; enough for any process of the same user to work with it. */
export const Handle = z.object({
  directory: z.string(),
  /** The supervisor's process id, which is also its process group. */
  pid: z.int(),
  server: z.string(),
  /** PEM of the certificate authority. */
  ca: z.string(),
  kubeconfig: z.string(),
  kubectl: z.string(),
  auditLog: z.string(),
  controlSocket: z.string(),
  users: z.array(z.object({ name: z.string(), groups: z.array(z.string()), token: z.string() })),
  timings: Timings,
});
export type Handle = z.infer<typeof Handle>;

export const handleFileName = "handle.json";

/**
 * Reads the handle of the control plane at `path`, its directory or its handle file.
 * @throws Error when there is none or when its supervisor has gone.
 */
export async function readHandle(path: string): Promise<Handle> {
  const file = (await stat(path)).isDirectory() ? join(path, handleFileName) : path;
  const handle = Handle.parse(JSON.parse(await readFile(file, "utf8")));
  try {
    process.kill(handle.pid, 0);
  } catch {
    throw new Error(`The control plane of ${file} is not running any more (process ${handle.pid}).`);
  }
  return handle;
}
