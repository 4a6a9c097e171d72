import {
  isMainThread,
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
  workerData,
} from "node:worker_threads";
import { Redacted } from "../../lib/redacted.ts";
import { Slots } from "../../lib/slots.ts";
import { INLINE_UNITS, MAX_UNITS } from "./budget.ts";
import { type Rendering, type RenderInput, renderTemplate } from "./render-template.ts";

interface Job extends Pick<RenderInput, "template" | "variables"> {
  readonly seed: Uint8Array;
  /** Receives the {@link Rendering}. */
  readonly port: MessagePort;
}

/** One thread at a time, to bound the memory and processors in use; namespaces take turns. */
const thread = new Slots(1);
const never = new AbortController().signal;

/**
 * Renders the templates of a target as {@link renderTemplate} does. Longer work, such as a hash of
 * a password, runs in a separate thread without an environment, to keep the event loop free.
 * Targets of one namespace delay one of another by one rendering at most.
 */
export async function renderAside(input: RenderInput, namespace: string): Promise<Rendering> {
  const rendering = renderTemplate(input, INLINE_UNITS);
  if (rendering.ok || !rendering.exceeded) return rendering;
  return thread.run(never, () => inThread(input), namespace);
}

/** Copies the bytes only, not the buffer that they are a part of. */
const copied = (content: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, Uint8Array> =>
  new Map([...content].map(([name, bytes]) => [name, new Uint8Array(bytes)]));

async function inThread({ template, variables, seed }: RenderInput): Promise<Rendering> {
  const { port1, port2 } = new MessageChannel();
  const job: Job = {
    template,
    variables: copied(variables),
    seed: new Uint8Array(seed.reveal()),
    port: port2,
  };
  try {
    await ended(
      new Worker(new URL(import.meta.url), {
        workerData: { template: job },
        transferList: [port2],
        env: {},
      }),
    );
    const rendering: Rendering | undefined = receiveMessageOnPort(port1)?.message;
    if (rendering === undefined) throw new Error("the thread that renders a template ended early");
    return rendering;
  } finally {
    port1.close();
  }
}

/** Waits for the end of a thread; its message stays queued. @throws the error that ended it */
function ended(worker: Worker): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.once("error", reject).once("exit", () => resolve());
  return promise;
}

function isJob(data: unknown): data is { readonly template: Job } {
  return typeof data === "object" && data !== null && "template" in data;
}

function run({ seed, port, ...input }: Job): void {
  const rendering = renderTemplate({ ...input, seed: new Redacted(seed) }, MAX_UNITS);
  port.postMessage(rendering.ok ? { ok: true, content: copied(rendering.content) } : rendering);
}

if (!isMainThread && isJob(workerData)) run(workerData.template);
