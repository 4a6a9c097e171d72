import {
  isMainThread,
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  workerData,
} from "node:worker_threads";
import { yieldToEventLoop } from "../../../lib/clock.ts";
import { codeOf } from "../../../lib/errors.ts";
import { Slots } from "../../../lib/slots.ts";
import { runThread } from "../../lib/aside.ts";
import { ListTooLongError, UnexpectedResponse } from "../vault-error.ts";
import type { TrackedList } from "./list-snapshot.ts";
import { type EntryOf, type ListKind, type ListSource, readList } from "./read-list.ts";

/** Longest list in bytes that is read without a thread: it blocks the event loop for some 10 ms. */
const MAX_INLINE_BYTES = 512 * 1024;
const MIB = 1024 * 1024;
/**
 * Heap of a thread in MiB, and in addition for each MiB of the longest list. The values of a list,
 * as far as `readList` accepts them, need less: the parser of Node ends the process, and not the
 * thread, where it finds no memory.
 */
const HEAP_MIB = 64;
const HEAP_PER_MIB = 10;
/** Number of names whose records are received in one turn of the event loop: some 3 ms. */
const NAMES_PER_TURN = 1_000;

interface Job {
  readonly kind: ListKind;
  readonly source: ListSource;
  /** Receives the records, in parts, then the summary. */
  readonly port: MessagePort;
}

type Records<K extends ListKind> = ReadonlyMap<string, readonly EntryOf[K][]>;
interface Part<K extends ListKind> {
  readonly part: Records<K>;
}
type Summary =
  | Pick<TrackedList<never>, "count" | "found" | "near">
  | { readonly unreadable: string }
  | { readonly excess: string };

/** One thread at a time, to bound the memory of many long lists; tenants take turns. */
const thread = new Slots(1);
const never = new AbortController().signal;

/**
 * As `readList`, but in a thread for a long list, to keep the event loop free. The body of a long
 * list is moved there and must not be used afterwards. Lists of one tenant delay one of another by
 * one list at most.
 * @throws UnexpectedResponse, ListTooLongError
 */
export async function readListAside<K extends ListKind>(
  kind: K,
  source: ListSource,
  tenant: string,
): Promise<TrackedList<EntryOf[K]>> {
  if (source.body.byteLength <= MAX_INLINE_BYTES) return readList(kind, source);
  return thread.run(never, () => inThread(kind, source), tenant);
}

async function inThread<K extends ListKind>(
  kind: K,
  source: ListSource,
): Promise<TrackedList<EntryOf[K]>> {
  const { port1, port2 } = new MessageChannel();
  const job: Job = { kind, source, port: port2 };
  // A copy of the body would block the event loop too.
  const transferList =
    source.body.buffer instanceof ArrayBuffer ? [source.body.buffer, port2] : [port2];
  const resourceLimits = {
    maxOldGenerationSizeMb: HEAP_MIB + HEAP_PER_MIB * Math.ceil(source.maxBytes / MIB),
  };
  try {
    const options = { workerData: { job }, transferList, resourceLimits };
    await runThread(import.meta.url, options).catch((error) => {
      if (codeOf(error) !== "ERR_WORKER_OUT_OF_MEMORY") throw error;
      throw new ListTooLongError(
        kind,
        "more names that match `find` rules than there is memory for (--max-list-bytes)",
      );
    });
    const records = new Map<string, readonly EntryOf[K][]>();
    for (;;) {
      const message: Part<K> | Summary | undefined = receiveMessageOnPort(port1)?.message;
      if (message === undefined) throw new Error("the thread that reads a list ended early");
      if (!("part" in message)) return complete(kind, source, records, message);
      for (const [name, same] of message.part) records.set(name, same);
      await yieldToEventLoop();
    }
  } finally {
    port1.close();
  }
}

function complete<K extends ListKind>(
  kind: K,
  { tracked }: ListSource,
  records: Records<K>,
  summary: Summary,
): TrackedList<EntryOf[K]> {
  if ("unreadable" in summary) throw new UnexpectedResponse(kind, summary.unreadable);
  if ("excess" in summary) throw new ListTooLongError(kind, summary.excess);
  // The same set of names, to be recognized as covered.
  return { ...summary, records, tracked };
}

function isJob(data: unknown): data is { readonly job: Job } {
  return typeof data === "object" && data !== null && "job" in data;
}

function run({ kind, source, port }: Job): void {
  try {
    const { records, count, found, near } = readList(kind, source);
    const entries = [...records];
    for (let from = 0; from < entries.length; from += NAMES_PER_TURN) {
      port.postMessage({
        part: new Map(entries.slice(from, from + NAMES_PER_TURN)),
      } satisfies Part<ListKind>);
    }
    port.postMessage({ count, found, near } satisfies Summary);
  } catch (error) {
    if (error instanceof UnexpectedResponse)
      port.postMessage({ unreadable: error.field } satisfies Summary);
    else if (error instanceof ListTooLongError)
      port.postMessage({ excess: error.excess } satisfies Summary);
    else throw error;
  }
}

if (!isMainThread && isJob(workerData)) run(workerData.job);
