import type { ConnectionCallbacks, OpenConnection } from "../../../src/operator/controllers/connection/connection-registry.ts";
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

/** Returns an open connection of ops@example.com to `https://vault.example.com`, with `changes`. */
export function openConnection(connection: Connection, changes: Partial<OpenConnection> = {}): OpenConnection {
  return {
    state: "open",
    connection,
    fingerprint: "",
    id: "vault",
    vault: vaultId("https://vault.example.com", "ops@example.com"),
    account: "ops@example.com",
    trustedOwners: undefined,
    removals: { held: 0, untilProven: () => Number.POSITIVE_INFINITY },
    staleSince: undefined,
    intervalMs: 60_000,
    ...changes,
  };
}
