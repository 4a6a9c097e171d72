import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { UnexpectedResponse } from "../vault-error.ts";
import { type EntryOf, type ListKind, type ListSource, readList, type ReadList } from "./read-list.ts";

/** Longest list in bytes that is read without a thread: it blocks the event loop for some 20 ms. */
const MAX_INLINE_BYTES = 1024 * 1024;

interface Job {
  readonly kind: ListKind;
  readonly source: ListSource;
}

type Outcome<K extends ListKind> = { readonly list: ReadList<EntryOf[K]> } | { readonly unreadable: string };

/** The last list that is read in a thread. One at a time, so that many long lists do not need memory together. */
let last: Promise<unknown> = Promise.resolve();

/**
 * As `readList`; a long list is read in a thread, so that it does not block the event loop. Its body is moved there and must not be
 * used afterwards.
 * @throws UnexpectedResponse
 */
export async function readListAside<K extends ListKind>(kind: K, source: ListSource): Promise<ReadList<EntryOf[K]>> {
  if (source.body.byteLength <= MAX_INLINE_BYTES) return readList(kind, source);
  const reading = last.then(() => inThread(kind, source));
  last = reading.catch(() => undefined);
  const outcome = await reading;
  if ("unreadable" in outcome) throw new UnexpectedResponse(kind, outcome.unreadable);
  // The same set, so that it is recognized as covered.
  return { ...outcome.list, tracked: source.tracked };
}

function inThread<K extends ListKind>(kind: K, source: ListSource): Promise<Outcome<K>> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome<K>>();
  const job: Job = { kind, source };
  // A copy of the body would block the event loop too.
  const transferList = source.body.buffer instanceof ArrayBuffer ? [source.body.buffer] : [];
  const worker = new Worker(new URL(import.meta.url), { workerData: { job }, transferList });
  worker.once("message", resolve).once("error", reject);
  worker.once("exit", () => reject(new Error("the thread that reads a list ended")));
  return promise;
}

function isJob(data: unknown): data is { readonly job: Job } {
  return typeof data === "object" && data !== null && "job" in data;
}

function run({ kind, source }: Job): Outcome<ListKind> {
  try {
    return { list: { ...readList(kind, source), tracked: new Set() } };
  } catch (error) {
    if (error instanceof UnexpectedResponse) return { unreadable: error.field };
    throw error;
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a thread, not a window
if (!isMainThread && parentPort && isJob(workerData)) parentPort.postMessage(run(workerData.job));
