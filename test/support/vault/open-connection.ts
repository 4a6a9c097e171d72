import type { ConnectionCallbacks, OpenConnection } from "../../../src/operator/controllers/connection/connection-registry.ts";
import type { ConnectionFacts } from "../../../src/operator/controllers/connection/connection-facts.ts";
import { vaultId } from "../../../src/operator/sync/target.ts";
import type { Connection } from "../../../src/operator/vault-client/connection.ts";

const ignore = (): void => undefined;
/** Callbacks that do nothing. */
export const ignoredCallbacks: ConnectionCallbacks = {
  onChange: ignore,
  onHealth: ignore,
  onTokenChange: ignore,
  onCircuitChange: ignore,
};

/** The parts of a spec that messages about its connection name. */
export const testFacts: ConnectionFacts = {
  url: "https://vault.example.com",
  email: "ops@example.com",
  usesTokens: false,
  credentials: "Secret vault-login, key password",
  scope: "",
  caBundle: undefined,
};

/** Returns an open connection of ops@example.com to `https://vault.example.com`, with `changes`. */
export function openConnection(connection: Connection, changes: Partial<OpenConnection> = {}): OpenConnection {
  return {
    state: "open",
    connection,
    fingerprint: "",
    id: "vault",
    vault: vaultId("https://vault.example.com", "ops@example.com"),
    account: "ops@example.com",
    facts: testFacts,
    trustedOwners: undefined,
    removals: { held: 0, untilProven: () => Number.POSITIVE_INFINITY },
    stale: undefined,
    intervalMs: 60_000,
    ...changes,
  };
}
