import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { toRequestError, type RequestError } from "../service/request-error.ts";

/** Something fetched. What was there stays while it is fetched again. */
export type Loaded<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "failed"; readonly failure: RequestError }
  | { readonly kind: "ready"; readonly value: T };

export interface Loading<T> {
  readonly loaded: Loaded<T>;
  /** Resolves when it is there, or has failed. */
  readonly reload: () => Promise<void>;
}

/** Fetches when the component appears and whenever `load` is another function; late answers to earlier calls are dropped. */
export function useLoaded<T>(load: () => Promise<T>): Loading<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ kind: "loading" });
  const latest = useRef(0);
  const reload = useCallback(async () => {
    const request = ++latest.current;
    const outcome = await load().then(
      (value): Loaded<T> => ({ kind: "ready", value }),
      (error: unknown): Loaded<T> => ({ kind: "failed", failure: toRequestError(error) }),
    );
    if (request === latest.current) setLoaded(outcome);
  }, [load]);
  useEffect(() => {
    void reload();
    return () => void latest.current++;
  }, [reload]);
  return { loaded, reload };
}
