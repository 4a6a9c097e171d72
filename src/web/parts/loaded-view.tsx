import type { ComponentChildren, VNode } from "preact";
import { FailureNote } from "./failure-note.tsx";
import type { Loading } from "./use-loaded.ts";

interface LoadedViewProps<T> {
  readonly of: Loading<T>;
  /** What is being fetched: `your secrets`. */
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}

/** Something fetched, or that it is on its way, or why it did not come with a way to try again. */
export function LoadedView<T>({ of: { loaded, reload }, what, children }: LoadedViewProps<T>): VNode {
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
