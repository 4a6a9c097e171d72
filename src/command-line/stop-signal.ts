/**
 * Returns a signal that the first SIGTERM or SIGINT aborts. A second one ends the process
 * immediately, without waiting for work in progress.
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(new Error("received a stop signal"));
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  return stop.signal;
}
