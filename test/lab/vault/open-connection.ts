import type { OpenConnection } from "../../../src/operator/controllers/connection/connection-state.ts";
import type {
  ConnectionCallbacks,
  RemovalFacts,
} from "../../../src/operator/controllers/connection/connection-users.ts";
import type { ConnectionFacts } from "../../../src/operator/connection/connection-facts.ts";
import { vaultId } from "../../../src/operator/sync/target.ts";
import type { Connection } from "../../../src/operator/vault-client/connection.ts";

const ignore = (): void => undefined;
/** Callbacks that do nothing. */
export const ignoredCallbacks: ConnectionCallbacks = {
  onChange: ignore,
  onListed: ignore,
  onHealth: ignore,
  onTokenChange: ignore,
  onCircuitChange: ignore,
};

/** Removals of a connection whose list lacks no name. */
export const noRemovals: OpenConnection["removals"] = {
  held: 0,
  isResuming: false,
  untilProven: () => Number.POSITIVE_INFINITY,
};

/** Facts of resources that refer to every name and have no target yet. */
export const testRemovalFacts: RemovalFacts = {
  isReferenced: () => true,
  hasReferences: () => true,
  rulesOf: () => [],
  wasServed: () => false,
  wasMissing: () => false,
  isUnconfirmed: () => false,
  hasOwnBytes: () => false,
  hasBytes: () => false,
  removesBytes: () => false,
  ownersOf: () => [],
  deadlineOf: () => undefined,
  removes: () => true,
  claimedBy: () => new Set(),
  targetsOf: () => [],
};

/** The parts of a spec that messages about its connection name. */
export const testFacts: ConnectionFacts = {
  url: "https://vault.example.com",
  email: "ops@example.com",
  login: "password",
  credentials: "Secret vault-login, key password",
  scope: "",
  caBundle: undefined,
};

/** Returns an open connection of ops@example.com to `https://vault.example.com`, with `changes`. */
export function openConnection(
  connection: Connection,
  changes: Partial<OpenConnection> = {},
): OpenConnection {
  return {
    state: "open",
    connection,
    fingerprint: "",
    id: "vault",
    vault: vaultId("https://vault.example.com", "ops@example.com"),
    account: "ops@example.com",
    facts: testFacts,
    trustedOwners: undefined,
    receive: "Trusted",
    removals: noRemovals,
    stale: undefined,
    intervalMs: 60_000,
    ...changes,
  };
}
