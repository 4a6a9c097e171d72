import type { Watched } from "./filtered-view.ts";
import { JoinedStore } from "./joined-store.ts";

/** Returns several collections without a common key as one. */
export function joinedView<T>(...sources: readonly Watched<T>[]): Watched<T> {
  const stores = sources.map(({ store }) => store);
  const each = (subscribe: (source: Watched<T>) => Disposable): Disposable => {
    const stack = new DisposableStack();
    for (const source of sources) stack.use(subscribe(source));
    return stack;
  };
  return {
    store: new JoinedStore(
      () => stores,
      (key) => stores.find((store) => store.has(key)),
    ),
    onChange: (handler) => each((source) => source.onChange(handler)),
    onReconnect: (handler) => each((source) => source.onReconnect(handler)),
  };
}
