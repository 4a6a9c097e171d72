import { getAsset, isSea } from "node:sea";
import { Worker, type WorkerOptions } from "node:worker_threads";
import { brotliDecompressSync } from "node:zlib";

/** Name of the bundle of all threads in an executable: CommonJS, compressed. */
const BUNDLE = "threads.cjs.br";

/**
 * Starts a thread.
 * @param url `import.meta.url` of the module that it runs. An executable has no files: its threads
 * run the bundle of all these modules. Each of them does its own work only.
 */
export const startThread = (url: string, options: WorkerOptions): Worker =>
  isSea()
    ? new Worker(brotliDecompressSync(getAsset(BUNDLE)).toString(), { ...options, eval: true })
    : new Worker(new URL(url), options);
