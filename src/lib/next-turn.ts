/** Lets the event loop do what waits for it: between the slices of long work that never waits for anything itself. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
