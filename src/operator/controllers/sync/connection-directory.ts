import type { Connection } from "../../vault-client/connection.ts";

/** An open connection, as seen by the resources that use it. */
export interface ConnectionAccess {
  readonly connection: Connection;
  /** Identity of the connection itself: its `connectionId`. */
  readonly id: string;
  /** Identity of the vault and the account: `vaultId` of its URL and email address. */
  readonly vault: string;
  /** Email address of the vault account. Entries of this owner are own entries. */
  readonly account: string;
  /** Time of the last response of the vault in milliseconds, if that is longer ago than three intervals. */
  readonly staleSince: number | undefined;
  /** Interval between list requests in milliseconds. */
  readonly intervalMs: number;
}

/** Port through which resources find their connection. Keys are `namespace/name`. */
export interface ConnectionDirectory {
  /**
   * Returns `opening` if the connection is not open yet; its resources are requeued then. `notReady` is why it cannot be opened.
   */
  get(key: string): ConnectionAccess | { readonly notReady: string } | "opening" | undefined;
}
