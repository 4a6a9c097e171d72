import type { Connection } from "../../vault-client/connection.ts";

/** An open connection as the resources that use it see it. */
export interface ConnectionAccess {
  readonly connection: Connection;
  /** The vault account; entries of this owner are the connection's own. */
  readonly account: string;
  /** Since when nothing was heard of the vault (milliseconds), where that is longer than three intervals. */
  readonly staleSince: number | undefined;
  /** How often the vault is listed, in milliseconds. */
  readonly intervalMs: number;
}

/** Where resources find their connection. Keys are `namespace/name`. */
export interface ConnectionDirectory {
  /** `opening`: there is a VaultConnection, and its resources will be told. `notReady`: it can't be opened, and why. */
  get(key: string): ConnectionAccess | { readonly notReady: string } | "opening" | undefined;
}
