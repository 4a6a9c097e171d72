import type { ComponentChildren, VNode } from "preact";
import { FailureNote } from "./failure-note.tsx";
import type { Loading } from "./use-loaded.ts";

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
