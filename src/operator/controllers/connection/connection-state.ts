import type { Trust } from "../../api/received-secrets.ts";
import type { ConnectionFacts } from "../../connection/connection-facts.ts";
import type { Staleness } from "../../sync/staleness.ts";
import type { Connection } from "../../vault-client/connection.ts";
import type { Removals } from "./removals.ts";

/** An open connection, as seen by the resources that use it. */
export interface OpenConnection extends Trust {
  readonly state: "open";
  readonly connection: Connection;
  /** Identifies what the client was opened with; see `parseConnection`. */
  readonly fingerprint: string;
  /** Identity of the connection itself: its `connectionId`. */
  readonly id: string;
  /** Identity of the vault and the account: `vaultId` of its URL and email address. */
  readonly vault: string;
  /** The parts of its spec that messages name. */
  readonly facts: ConnectionFacts;
  /** Interval between list requests in milliseconds. */
  readonly intervalMs: number;
  /** The names that disappeared, and whether removals are held. */
  readonly removals: Pick<Removals, "held" | "isResuming" | "untilProven">;
  /** Absent while the lists are recent. */
  readonly stale: Staleness | undefined;
}

/**
 * The state of a connection, as far as its resources are concerned. `absent`: there is no
 * connection of this kind and name, or it is being deleted; `leaving` is what is left of it for
 * removals in the vault. `opening`: it was created and is opened
 * next. `invalid`: it cannot be opened, `message` says why. Every change of state requeues the
 * resources of the connection.
 */
export type ConnectionState =
  | { readonly state: "absent"; readonly leaving?: OpenConnection }
  | { readonly state: "opening" }
  | ({ readonly state: "invalid"; readonly message: string } & Pick<OpenConnection, "stale">)
  | OpenConnection;

/** The properties of a connection to open; another fingerprint requires another client. */
export interface WantedConnection extends Pick<
  OpenConnection,
  | "fingerprint"
  | "id"
  | "vault"
  | "account"
  | "facts"
  | "trustedOwners"
  | "receive"
  | "intervalMs"
  | "stale"
> {
  /**
   * The status shows that removals are held. Like `stale`, it may be what an earlier process
   * published.
   */
  readonly wasHeld: boolean;
}
