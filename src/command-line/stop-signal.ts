/** A signal, until it is disposed: then SIGTERM and SIGINT end the process immediately again. */
export interface StopSignal extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Returns a signal that the first SIGTERM or SIGINT aborts. A second one ends the process
 * immediately, without waiting for work in progress.
 */
export function stopSignal(): StopSignal {
  const stop = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(new Error("received a stop signal"));
  };
  const names = ["SIGTERM", "SIGINT"] as const;
  for (const name of names) process.on(name, onSignal);
  return {
    signal: stop.signal,
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, onSignal);
    },
  };
}
