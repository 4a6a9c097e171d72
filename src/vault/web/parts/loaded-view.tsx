import type { ComponentChildren, VNode } from "preact";
import { FailureNote } from "./notes.tsx";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { toRequestError, type RequestError } from "../service/request-error.ts";

/** State of a fetched value. The previous value stays while it is fetched again. */
type Loaded<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "failed"; readonly failure: RequestError }
  | { readonly kind: "ready"; readonly value: T };

export interface Loading<T> {
  readonly loaded: Loaded<T>;
  /** Resolves when the value is loaded or the request has failed. */
  readonly reload: () => Promise<void>;
}

/** Fetches on mount and whenever `load` changes. Late responses to earlier requests are dropped. */
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

interface LoadedViewProps<T> {
  readonly of: Loading<T>;
  /** Name of the fetched value: `your secrets`. */
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}

/** Shows a fetched value, its loading state, or its failure with a retry button. */
export function LoadedView<T>({
  of: { loaded, reload },
  what,
  children,
}: LoadedViewProps<T>): VNode {
  switch (loaded.kind) {
    case "loading":
      return (
        <p class="loading" role="status">
          <span class="spinner" /> Loading {what} …
        </p>
      );
    case "failed":
      return (
        <div class="failed">
          <FailureNote failure={loaded.failure} />
          <button class="button" type="button" onClick={() => void reload()}>
            Try again
          </button>
        </div>
      );
    case "ready":
      return <>{children(loaded.value)}</>;
  }
}
