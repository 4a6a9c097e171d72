import type { ComponentChildren, VNode, ComponentType } from "preact";
import { browserClock } from "../service/browser-clock.ts";
import { timeOfDay } from "../text/formats.ts";
import { Icon } from "./icon.tsx";
import { FailureNote } from "./notes.tsx";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { toRequestError, type RequestError } from "../service/request-error.ts";

interface LazyProps<P extends object> {
  /** Fetches the code of the component; the same function each time. */
  readonly load: () => Promise<ComponentType<P>>;
  readonly props: P;
}

/** Shows a component whose code is fetched when it is needed. */
export function Lazy<P extends object>({ load, props }: LazyProps<P>): VNode {
  const code = useLoaded(load);
  return (
    <LoadedView of={code} what="this page">
      {(Component) => <Component {...props} />}
    </LoadedView>
  );
}

/**
 * State of a fetched value. The previous value stays while it is fetched again, and when that
 * fails.
 */
type Loaded<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "failed"; readonly failure: RequestError }
  | {
      readonly kind: "ready";
      readonly value: T;
      /** Milliseconds since the epoch. */
      readonly fetchedAt: number;
      /** Failure of the last request. */
      readonly failure?: RequestError;
    };

export interface Loading<T> {
  readonly loaded: Loaded<T>;
  /** Resolves when the value is loaded or the request has failed. */
  readonly reload: () => Promise<void>;
}

/** Milliseconds until a failed request is repeated the first time; doubled each time. */
const RETRY_MS = 5_000;
const MAX_RETRY_MS = 60_000;

/** Repeats a request without a response: after growing pauses, and when the network is back. */
function useRetry(failure: RequestError | undefined, reload: () => Promise<void>): void {
  const attempts = useRef(0);
  useEffect(() => {
    if (failure?.status !== 0) {
      attempts.current = 0;
      return;
    }
    const retry = (): void => void reload();
    const wait = Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** attempts.current++);
    const cancel = browserClock.after(wait, retry);
    addEventListener("online", retry);
    return () => {
      cancel();
      removeEventListener("online", retry);
    };
  }, [failure, reload]);
}

/** Fetches on mount and whenever `load` changes. Late responses to earlier requests are dropped. */
export function useLoaded<T>(load: () => Promise<T>): Loading<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ kind: "loading" });
  const latest = useRef(0);
  const reload = useCallback(async () => {
    const request = ++latest.current;
    const change = await load().then(
      (value) => (): Loaded<T> => ({ kind: "ready", value, fetchedAt: browserClock.now() }),
      (error: unknown) =>
        (former: Loaded<T>): Loaded<T> => {
          const failure = toRequestError(error);
          return former.kind === "ready" ? { ...former, failure } : { kind: "failed", failure };
        },
    );
    if (request === latest.current) setLoaded(change);
  }, [load]);
  useEffect(() => {
    void reload();
    return () => void latest.current++;
  }, [reload]);
  useRetry(loaded.kind === "loading" ? undefined : loaded.failure, reload);
  return { loaded, reload };
}

interface LoadedViewProps<T> {
  readonly of: Loading<T>;
  /** Name of the fetched value: `your secrets`. */
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}

/** Shows above a value that it could not be fetched again. */
export function StaleNote({
  at,
  failure,
}: {
  readonly at: number;
  readonly failure: RequestError;
}): VNode {
  return (
    <p class="note" role="alert">
      <Icon name="warning" />
      <span>
        As of {timeOfDay(at)}. {failure.message}
      </span>
    </p>
  );
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
      return (
        <>
          {loaded.failure && <StaleNote at={loaded.fetchedAt} failure={loaded.failure} />}
          {children(loaded.value)}
        </>
      );
  }
}
