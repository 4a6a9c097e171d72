import type { Dispatcher } from "undici";
import { type Clock, type Timer, yieldToEventLoop } from "../../../lib/clock.ts";
import type { BodyMemory } from "./vault-transport.ts";

/** Time in ms within which a body that takes memory arrives: others may wait for this memory. */
const MAX_MEMORY_MS = 30_000;

/** The beginning of a response. */
export interface ResponseHead {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Limits of one body. */
interface BodyLimits {
  readonly maxBytes: number;
  /** The memory that the body waits for. */
  readonly memory?: BodyMemory | undefined;
}

interface ReceiveOptions {
  /** Returns the limits of the body. If it throws, the request fails with the error. */
  readonly limitsOf: (head: ResponseHead) => BodyLimits;
  readonly clock: Clock;
  /** Ends the request; the promise rejects with its reason. */
  readonly signal: AbortSignal;
}

interface Received extends ResponseHead {
  /** `undefined` if the body is longer than its limit. */
  readonly body: Uint8Array | undefined;
}

/**
 * Sends a request and returns its response with all bytes, or without them as soon as they exceed
 * the limit: by the announced length before reading, by counting while reading. Buffers at most
 * `maxBytes` and one chunk.
 * @throws the reason of the signal, the error of `limitsOf` or of the memory, or undici's error
 */
export async function receive(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  options: ReceiveOptions,
): Promise<Received> {
  options.signal.throwIfAborted();
  const handler = new ResponseHandler(options);
  dispatcher.dispatch(request, handler);
  const response = await handler.result;
  // undici offers the connection again in the next turn: a request that follows immediately would
  // open another one.
  await yieldToEventLoop();
  return response;
}

/**
 * Collects one response. undici's `request` makes a stream of each body and follows the signal with
 * several listeners: for single values, that took more CPU time than to parse them.
 */
class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly result: Promise<Received>;
  readonly #options: ReceiveOptions;
  readonly #settle: Pick<PromiseWithResolvers<Received>, "resolve" | "reject">;
  readonly #chunks: Uint8Array[] = [];
  #length = 0;
  #head: ResponseHead | undefined;
  #limits: BodyLimits = { maxBytes: 0 };
  #controller: Dispatcher.DispatchController | undefined;
  #timer: Timer | undefined;
  /** The body waits for memory: the promise settles when the memory knows whether it is taken. */
  #isReserving = false;
  #failure: Error | undefined;

  constructor(options: ReceiveOptions) {
    const { promise, ...settle } = Promise.withResolvers<Received>();
    this.#options = options;
    this.#settle = settle;
    this.result = promise;
    options.signal.addEventListener("abort", this.#abort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#options.signal.throwIfAborted();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: ResponseHead["headers"],
  ): void {
    // An informational response precedes the real one.
    if (statusCode < 200) return;
    this.#head = { statusCode, headers };
    this.#limits = this.#options.limitsOf(this.#head);
    const { maxBytes, memory } = this.#limits;
    const announced = lengthIn(headers);
    if (announced !== undefined && announced > maxBytes) return this.#tooLong();
    if (memory === undefined) return;
    controller.pause();
    this.#isReserving = true;
    memory.reserve(announced, this.#options.signal).then(
      () => this.#reserved(controller, memory),
      (error: Error) => {
        this.#isReserving = false;
        this.#fail(error);
      },
    );
  }

  #reserved(controller: Dispatcher.DispatchController, memory: BodyMemory): void {
    this.#isReserving = false;
    if (this.#failure !== undefined) return this.#fail(this.#failure);
    const expire = (): void => this.#fail(memory.timeout());
    this.#timer = this.#options.clock.timer(MAX_MEMORY_MS, expire);
    controller.resume();
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Uint8Array): void {
    const { maxBytes, memory } = this.#limits;
    this.#length += chunk.byteLength;
    if (this.#length > maxBytes) return this.#tooLong();
    memory?.grow(this.#length);
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#end();
    const { resolve, reject } = this.#settle;
    if (this.#head === undefined) return;
    const head = this.#head;
    joinChunks(this.#chunks, this.#length).then((body) => resolve({ ...head, body }), reject);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  /** While the body waits for memory, the memory reports the end of the signal. */
  readonly #abort = (): void => {
    if (!this.#isReserving) this.#fail(this.#options.signal.reason);
  };

  /** Ends the request, and with it the connection. */
  #fail(error: Error): void {
    this.#failure = error;
    if (this.#isReserving) return;
    this.#end();
    this.#settle.reject(error);
    this.#controller?.abort(error);
  }

  #tooLong(): void {
    if (this.#head !== undefined) this.#settle.resolve({ ...this.#head, body: undefined });
    this.#fail(new RangeError("the body is too long"));
  }

  #end(): void {
    this.#timer?.[Symbol.dispose]();
    this.#options.signal.removeEventListener("abort", this.#abort);
  }
}

function lengthIn(headers: ResponseHead["headers"]): number | undefined {
  const announced = Number(headers["content-length"] ?? Number.NaN);
  return Number.isSafeInteger(announced) && announced >= 0 ? announced : undefined;
}

/** Number of bytes that are copied in one turn of the event loop: some 3 ms. */
const BYTES_PER_TURN = 4 * 1024 * 1024;

/**
 * Returns the bytes of all chunks, `length` in total. The event loop continues while many are
 * copied.
 */
export async function joinChunks(
  chunks: readonly Uint8Array[],
  length: number,
): Promise<Uint8Array> {
  const joined = new Uint8Array(length);
  let copied = 0;
  let pauseAt = BYTES_PER_TURN;
  for (const chunk of chunks) {
    joined.set(chunk, copied);
    copied += chunk.byteLength;
    if (copied < pauseAt) continue;
    pauseAt = copied + BYTES_PER_TURN;
    await yieldToEventLoop();
  }
  return joined;
}
