import type { Watched } from "./filtered-view.ts";
import type { StoreChange } from "./object-store.ts";

/** Calls the handler for every current object, as added, and for every later change. */
export function replayAndSubscribe<T>(
  watched: Watched<T>,
  handler: (change: StoreChange<T>) => void,
): Disposable {
  for (const [key, now] of watched.store.entries()) handler({ type: "added", key, now });
  return watched.onChange(handler);
}
