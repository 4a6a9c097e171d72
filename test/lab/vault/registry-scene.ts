import { BlastLimits } from "../../../src/operator/controllers/connection/blast-limit.ts";
import { ConnectionRegistry } from "../../../src/operator/controllers/connection/connection-registry.ts";
import type { Staleness } from "../../../src/operator/sync/staleness.ts";
import type { SnapshotChange } from "../../../src/operator/vault-client/connection.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { testFacts, testRemovalFacts } from "./open-connection.ts";
import { InMemoryConnection } from "./in-memory-connection.ts";

export const KEY = "shop/vault";
export const INTERVAL = 60_000;
const wanted = {
  fingerprint: "1",
  id: "1",
  vault: "vault",
  account: "ops@example.com",
  facts: testFacts,
  trustedOwners: undefined,
  receive: "Trusted" as const,
  intervalMs: INTERVAL,
  stale: undefined as Staleness | undefined,
  wasHeld: false,
};

/**
 * Returns a registry of in-memory connections on a virtual clock, and the calls of its listener.
 */
export function registryScene(exists: () => boolean = () => true) {
  const clock = new VirtualClock();
  const calls: string[] = [];
  const listener = {
    onSnapshotChange: (_: string, { secrets }: SnapshotChange) =>
      void calls.push(`changed ${[...secrets].join()}`),
    onConnectionStateChange: () => void calls.push("state"),
    removalFactsOf: () => testRemovalFacts,
    statusChanged: () => void calls.push("status"),
    circuitChanged: (_: string, open: boolean) => void calls.push(open ? "opened" : "closed"),
  };
  const connections = new ConnectionRegistry({
    clock,
    blastLimits: new BlastLimits(),
    exists,
    users: () => listener,
    reporter: () => listener,
  });
  const opened: InMemoryConnection[] = [];
  const open = async (changes: Partial<typeof wanted> = {}): Promise<InMemoryConnection> => {
    await connections.open(KEY, { ...wanted, ...changes }, (callbacks) => {
      const connection = new InMemoryConnection(clock, callbacks);
      opened.push(connection);
      return connection;
    });
    return opened.at(-1)!;
  };
  const staleSince = (): number | undefined => {
    const state = connections.get(KEY);
    return state.state === "open" ? state.stale?.since : undefined;
  };
  /** Returns the listener calls since the last time. */
  const takeCalls = (): string[] => calls.splice(0);
  return { clock, connections, opened, open, staleSince, takeCalls };
}
