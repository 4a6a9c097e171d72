import {
  isMainThread,
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  type ResourceLimits,
  workerData,
  Worker,
  type WorkerOptions,
} from "node:worker_threads";
import { getAsset, isSea } from "node:sea";
import { brotliDecompressSync } from "node:zlib";

interface Task<I> {
  /** Name of the work. */
  readonly aside: string;
  readonly input: I;
  /** Receives the result. */
  readonly port: MessagePort;
}

interface AsideOptions {
  /** `import.meta.url` of the module that calls {@link aside} when it is loaded. */
  readonly url: string;
  /** Name of the work: a bundle has the work of several modules. */
  readonly name: string;
  readonly resourceLimits?: ResourceLimits;
}

/**
 * Returns a function that does work in a separate thread without an environment, to keep the event
 * loop free. Input and result are copied. The function throws the error that ended the thread:
 * `ERR_WORKER_OUT_OF_MEMORY` beyond `resourceLimits`.
 */
export function aside<I, R>(
  { url, name, resourceLimits = {} }: AsideOptions,
  work: (input: I) => R,
): (input: I) => Promise<R> {
  if (!isMainThread && isTask<I>(workerData, name)) {
    const { port, input } = workerData;
    port.postMessage({ result: work(input) });
  }
  return async (input) => {
    const { port1, port2 } = new MessageChannel();
    const task: Task<I> = { aside: name, input, port: port2 };
    const options = { workerData: task, transferList: [port2], resourceLimits, env: {} };
    try {
      await runThread(url, options);
      const message: { readonly result: R } | undefined = receiveMessageOnPort(port1)?.message;
      if (message === undefined) throw new Error(`the thread for a ${name} ended early`);
      return message.result;
    } finally {
      port1.close();
    }
  };
}

const isTask = <I>(data: unknown, name: string): data is Task<I> =>
  typeof data === "object" && data !== null && "aside" in data && data.aside === name;

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
