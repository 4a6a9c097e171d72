/** The reason of the demo's abort signal after Ctrl-C. */
export class Interrupted extends Error {
  constructor(signal: string) {
    super(`stopped by ${signal}`);
    this.name = "Interrupted";
  }
}

/**
 * Returns a signal that the first SIGINT, SIGTERM or SIGHUP aborts. The second one exits
 * immediately.
 */
export function interruption(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(130);
      stop.abort(new Interrupted(signal));
    });
  }
  return stop.signal;
}

/**
 * Settles like `promise`, or rejects with the signal's reason. The work behind `promise` is not
 * cancelled.
 */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
