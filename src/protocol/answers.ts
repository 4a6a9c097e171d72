import type { Metadata } from "./metadata.ts";

/** A moment on the wire: ISO 8601 in UTC, or milliseconds since the epoch where that lies beyond JavaScript's dates. */
export type Moment = string | number;

/** Answer of the two token operations. `expires_in` is in seconds. Source: the interface, "Token response object". */
export interface TokenAnswer {
  readonly access_token: string;
  readonly expires_in: number;
  readonly id_token: string;
  readonly refresh_token: string;
  readonly scope: string;
  readonly token_type: "access";
}

export type Permission = "R" | "W" | "RW";

/** One version of a secret as lists show it: everything but the value. `delete_time` is in minutes. Source: the vault contract, "Secrets". */
export interface SecretRecord {
  readonly key_name: string;
  readonly key_version: number;
  readonly owner: string;
  readonly shared: boolean;
  readonly permission: Permission;
  readonly metadata: Metadata;
  readonly delete_time: number;
  readonly created_at: Moment;
  readonly updated_at: Moment;
  readonly expires_at: Moment;
  readonly expired: boolean;
  readonly delete_at: Moment;
}

/** Answer of the expose operations. */
export interface ExposedSecret {
  readonly key_name: string;
  readonly key_value: string;
  readonly key_version: number;
  readonly metadata: Metadata;
  readonly owner: string;
  readonly expired: boolean;
}

/** One grant as `share` answers it: `to` is an address or a team; `invited` while they, or for a team some other member, have no live session. */
export interface ShareRecord {
  readonly key_name: string;
  readonly to: string;
  readonly permission: Permission;
  readonly state: "active" | "invited";
}

/** One grant that `unshare` took back from an address or a team. */
export interface UnshareRecord {
  readonly key_name: string;
  readonly from: string;
}

/** A team; `members` by code point, the creator among them. Source: the vault contract, "Fine print", "Sharing". */
export interface TeamRecord {
  readonly group_id: string;
  readonly creator: string;
  readonly members: readonly string[];
}

/** One version of a file; `size` in bytes, `sha256` hexadecimal. Source: the vault contract, "Files". */
export interface FileVersionRecord {
  readonly version: number;
  readonly size: number;
  readonly sha256: string;
  readonly created_at: Moment;
}

/** The latest version's figures and all versions, ascending. */
export interface FileRecord extends FileVersionRecord {
  readonly filename: string;
  readonly versions: readonly FileVersionRecord[];
}

/** Body of every error. Source: the vault contract, "Transport". */
export interface ErrorAnswer {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details?: readonly { readonly path: string; readonly reason: string }[];
  };
}
