/**
 * Aborted by the first SIGTERM or SIGINT. A second one ends the process at once: whoever sends it does not want to wait for what is
 * under way.
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const told = (): void => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(new Error("told to stop"));
  };
  process.on("SIGTERM", told);
  process.on("SIGINT", told);
  return stop.signal;
}
