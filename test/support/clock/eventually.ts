import { vi } from "vitest";

/** Repeats until it no longer throws: for what real sockets bring about in their own time. */
export function eventually(assertion: () => void): Promise<void> {
  return vi.waitFor(assertion, { interval: 3, timeout: 10_000 });
}
