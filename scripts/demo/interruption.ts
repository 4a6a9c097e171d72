/** What the demo is stopped with. */
export class Interrupted extends Error {
  constructor(signal: string) {
    super(`stopped by ${signal}`);
    this.name = "Interrupted";
  }
}

/** Aborted by the first Ctrl-C (or SIGTERM, or the terminal going away). The second one ends the process at once. */
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

/** Settles as `promise` does, or rejects with the signal's reason. What was begun goes on by itself. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
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
