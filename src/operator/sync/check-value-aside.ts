import {
  isMainThread,
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
  workerData,
} from "node:worker_threads";
import { codeOf } from "../../lib/error-code.ts";
import { Slots } from "../../lib/slots.ts";
import type { ValueContract } from "../api/value-contract.ts";
import { type BrokenRule, brokenRule, type CheckedValue } from "./value-contract.ts";

interface Job {
  readonly contract: ValueContract;
  readonly value: CheckedValue;
  /** Receives `{ broken }`. */
  readonly port: MessagePort;
}

/**
 * Maximum number of bytes that are checked in this thread: it is blocked for some 10 ms at most.
 * Regular expressions and YAML take a hundred times as long as the other rules.
 */
const INLINE_BYTES = 64 * 1024;
const INLINE_COSTLY_BYTES = 4 * 1024;

/** Maximum memory of the thread: values of one namespace must not stop the operator. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 };
const TOO_COSTLY: BrokenRule = {
  rule: "format",
  expected: "a value that can be checked with less memory: make it shorter",
};

/** One thread at a time, to bound the memory and processors in use; namespaces take turns. */
const thread = new Slots(1);
const never = new AbortController().signal;

/**
 * Returns the first rule that a value does not fit, as {@link brokenRule} does. A long value is
 * checked in a separate thread without an environment, to keep the event loop free.
 */
export async function checkValueAside(
  contract: ValueContract,
  value: CheckedValue,
  namespace: string,
): Promise<BrokenRule | undefined> {
  const isCostly = contract.pattern !== undefined || contract.format === "YAML";
  const limit = isCostly ? INLINE_COSTLY_BYTES : INLINE_BYTES;
  if (value.bytes.byteLength <= limit) return brokenRule(contract, value);
  return thread.run(never, () => inThread(contract, value), namespace);
}

async function inThread(
  contract: ValueContract,
  { bytes, now }: CheckedValue,
): Promise<BrokenRule | undefined> {
  const { port1, port2 } = new MessageChannel();
  // Copies the bytes only, not the buffer that they are a part of.
  const value = { bytes: new Uint8Array(bytes), now };
  const job: Job = { contract, value, port: port2 };
  try {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: { check: job },
      transferList: [port2],
      resourceLimits,
      env: {},
    });
    if ((await ended(worker)) === "out of memory") return TOO_COSTLY;
    const message: { readonly broken: BrokenRule | undefined } | undefined =
      receiveMessageOnPort(port1)?.message;
    if (message === undefined) throw new Error("the thread that checks a value ended early");
    return message.broken;
  } finally {
    port1.close();
  }
}

/** Waits for the end of a thread; its message stays queued. @throws the error that ended it */
function ended(worker: Worker): Promise<"done" | "out of memory"> {
  const { promise, resolve, reject } = Promise.withResolvers<"done" | "out of memory">();
  worker
    .once("error", (error) =>
      codeOf(error) === "ERR_WORKER_OUT_OF_MEMORY" ? resolve("out of memory") : reject(error),
    )
    .once("exit", () => resolve("done"));
  return promise;
}

function isJob(data: unknown): data is { readonly check: Job } {
  return typeof data === "object" && data !== null && "check" in data;
}

if (!isMainThread && isJob(workerData)) {
  const { contract, value, port } = workerData.check;
  port.postMessage({ broken: brokenRule(contract, value) });
}
