import type { Dispatcher } from "undici";
import { yieldToEventLoop } from "../../../lib/clock.ts";

/** A response with its whole body. */
export interface WholeResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body as UTF-8. */
  readonly text: string;
}

interface ReceiveOptions {
  /** Ends the request; the promise rejects with its reason. */
  readonly signal: AbortSignal;
  /** See `KubeRequest.beforeSend`. */
  readonly beforeSend?: (() => void) | undefined;
}

/**
 * Sends a request and collects its response. undici's `request` makes a stream of each body and
 * follows the signal with several listeners: for single objects, that took more CPU time than to
 * parse them.
 * @throws the reason of the signal, the error of `beforeSend`, or undici's error
 */
export async function receiveWhole(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  options: ReceiveOptions,
): Promise<WholeResponse> {
  const response = await received(dispatcher, request, options);
  // undici offers the connection again in the next turn: a request that follows immediately would
  // open another one.
  await yieldToEventLoop();
  return response;
}

function received(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { signal, beforeSend }: ReceiveOptions,
): Promise<WholeResponse> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let response: Omit<WholeResponse, "text"> | undefined;
    const chunks: Buffer[] = [];
    const abort = (): void => {
      reject(signal.reason);
      controller?.abort(signal.reason);
    };
    const end = (): void => signal.removeEventListener("abort", abort);
    signal.throwIfAborted();
    signal.addEventListener("abort", abort, { once: true });
    dispatcher.dispatch(request, {
      onRequestStart(started) {
        controller = started;
        signal.throwIfAborted();
        beforeSend?.();
      },
      onResponseStart(_, statusCode, headers) {
        // An informational response precedes the real one.
        if (statusCode >= 200) response = { statusCode, headers };
      },
      onResponseData(_, chunk) {
        chunks.push(chunk);
      },
      onResponseEnd() {
        end();
        if (response !== undefined) resolve({ ...response, text: textOf(chunks) });
      },
      onResponseError(_, error) {
        end();
        reject(error);
      },
    });
  });
}

function textOf(chunks: readonly Buffer[]): string {
  const [first, ...others] = chunks;
  if (first === undefined) return "";
  return others.length === 0 ? first.toString() : Buffer.concat(chunks).toString();
}
