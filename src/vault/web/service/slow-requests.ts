const slow = new Set<object>();
const listeners = new Set<() => void>();

function change(changed: boolean): void {
  if (changed) listeners.forEach((listener) => listener());
}

/**
 * The requests that the vault takes unusually long to respond to. The frame of the pages reports
 * them.
 */
export const slowRequests = {
  any: (): boolean => slow.size > 0,
  add(request: object): void {
    slow.add(request);
    change(true);
  },
  remove: (request: object): void => change(slow.delete(request)),
  /** Calls `listener` after each change. Returns a function that stops it. */
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};
