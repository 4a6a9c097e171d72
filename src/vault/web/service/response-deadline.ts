import { browserClock } from "./browser-clock.ts";
import { timedOut } from "./request-error.ts";

const slow = new Set<object>();
const listeners = new Set<() => void>();

function change(changed: boolean): void {
  if (changed) listeners.forEach((listener) => listener());
}

/**
 * The requests that the vault takes unusually long to respond to. The frame of the pages reports
 * them.
 */
export const slowRequests = {
  any: (): boolean => slow.size > 0,
  add(request: object): void {
    slow.add(request);
    change(true);
  },
  remove: (request: object): void => change(slow.delete(request)),
  /** Calls `listener` after each change. Returns a function that stops it. */
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

/**
 * Time in ms without a byte of the response after which a request counts as slow, and after which
 * it fails.
 */
const SLOW_MS = 5_000;
export const SILENCE_MS = 30_000;

/**
 * Sends a request and returns its response with the whole body. Fails with `timed_out` once the
 * vault sends nothing for 30 seconds. A long download may take longer, as long as bytes arrive.
 */
export async function withDeadline(
  send: (signal: AbortSignal) => Promise<Response>,
): Promise<Response> {
  const abort = new AbortController();
  const limited = async <T>(step: Promise<T>): Promise<T> => {
    const cancelSlow = browserClock.after(SLOW_MS, () => slowRequests.add(abort));
    const cancelAbort = browserClock.after(SILENCE_MS, () => abort.abort(timedOut()));
    try {
      return await step;
    } finally {
      cancelSlow();
      cancelAbort();
      slowRequests.remove(abort);
    }
  };
  const response = await limited(send(abort.signal));
  const reader = response.body?.getReader();
  if (!reader || response.status === 304) return response;
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (;;) {
    const { done, value } = await limited(reader.read());
    if (done) break;
    parts.push(value);
  }
  return new Response(new Blob(parts), { status: response.status, headers: response.headers });
}
