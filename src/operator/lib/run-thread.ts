import { getAsset, isSea } from "node:sea";
import { Worker, type WorkerOptions } from "node:worker_threads";
import { brotliDecompressSync } from "node:zlib";

/** Name of the bundle of all threads in an executable: CommonJS, compressed. */
const BUNDLE = "threads.cjs.br";

/**
 * Runs a thread until it ends; the messages of its ports stay queued. @throws the error that ended
 * it
 * @param url `import.meta.url` of the module that it runs. An executable has no files: its threads
 * run the bundle of all these modules. Each of them does its own work only.
 */
export function runThread(url: string, options: WorkerOptions): Promise<void> {
  const worker = isSea()
    ? new Worker(brotliDecompressSync(getAsset(BUNDLE)).toString(), { ...options, eval: true })
    : new Worker(new URL(url), options);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.once("error", reject).once("exit", () => resolve());
  return promise;
}
