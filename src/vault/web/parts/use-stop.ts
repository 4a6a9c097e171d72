import { useCallback, useEffect, useMemo, useRef } from "preact/hooks";

/** Lets the user end long work. */
interface Stop {
  /** Starts work. Its signal is aborted by `stop`, and when the component leaves the page. */
  readonly start: () => AbortSignal;
  readonly stop: () => void;
}

export function useStop(): Stop {
  const work = useRef<AbortController | undefined>(undefined);
  const stop = useCallback(() => work.current?.abort(), []);
  useEffect(() => stop, [stop]);
  const start = useCallback(() => {
    work.current = new AbortController();
    return work.current.signal;
  }, []);
  return useMemo(() => ({ start, stop }), [start, stop]);
}
