import type { Rewrite } from "./rewrite-key.ts";
import type { ConnectionRef } from "../api/connection-key.ts";
import type { TimeWindow } from "../lib/window.ts";
import type { ValueContract } from "../api/value-contract.ts";

/** A rule that selects sources among the entries that the vault lists. */
export interface Find {
  /** Its place in the spec. */
  readonly id: string;
  /** Regular expression of the names; the empty one matches all. */
  readonly pattern: string;
  /** Attributes that the metadata of an entry must have. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Rules that make the keys of the names. */
  readonly rewrite: readonly Rewrite[];
  /**
   * Short digest of the rule, without its place in the spec, and after a dot a digest of the
   * metadata that it requests, if it requests any.
   */
  readonly digest: string;
  /** The `form` of the items that it finds. */
  readonly form?: string | undefined;
}

/** One source of a target, and what becomes of its bytes. */
export interface SyncItem {
  /**
   * Identifies the item in the claims of the target and in the status. The id is the key of the
   * target. For an extracted item it is the place in the spec: never a valid key.
   */
  readonly id: string;
  /** Name of the secret or file in the vault. */
  readonly source: string;
  /** The creator, if the name alone is ambiguous. */
  readonly owner: string | undefined;
  /** `previous`: below what another item of the same entry has that follows the latest one. */
  readonly version: "latest" | "previous" | number;
  /** JSON Pointer to the part of the source that is used. */
  readonly property?: string | undefined;
  readonly decoding?: "Base64" | "Base64URL" | undefined;
  /** The source is a JSON object, and each of its members makes up a key. */
  readonly isExtracted?: boolean | undefined;
  /** Rules that make the keys of the names of the members of an extracted item. */
  readonly rewrite?: readonly Rewrite[] | undefined;
  /** The rule that found the source, if the spec does not name it. */
  readonly foundBy?: Find | undefined;
  /** The absence of the source is no error. */
  readonly isOptional?: boolean | undefined;
  /** Rules that the bytes must fit. */
  readonly contract?: ValueContract | undefined;
  /**
   * Short digest of how the content is made of the source, and after a dot a digest of the rules
   * that it fits; `undefined` if the target has the bytes of the source itself, whatever they are.
   */
  readonly form?: string | undefined;
}

/**
 * Templates of the keys of a target. Their variables are the values of the items by id, and the
 * members of extracted objects.
 */
export interface TargetTemplate {
  readonly data: Readonly<Record<string, string>>;
  /** Rules that the bytes of some of the keys must fit. */
  readonly contracts?: Readonly<Record<string, ValueContract>> | undefined;
}

export type TargetKind = "Secret" | "ConfigMap";

/** Properties of a target in addition to its content. */
export interface TargetPolicy {
  readonly creationPolicy: "Owner" | "Orphan" | "Merge";
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly immutable: boolean;
}

/** A user's request to keep versions although the vault has newer ones. */
export interface Hold {
  /** Versions by the id of the item. Every other item keeps the version that the target has. */
  readonly versions: ReadonlyMap<string, number>;
  /** The author and the reason, for a message; empty if the annotation does not say them. */
  readonly note: string;
  /** Reason why the annotation cannot be used: then every item keeps the version of the target. */
  readonly problem?: string | undefined;
}

/** When a target follows newer versions. Then all of its keys follow, or none. */
export interface UpdatePolicy {
  /** A user has to approve each set of versions. */
  readonly needsApproval: boolean;
  /** The times in which the target follows; none: always. */
  readonly windows: readonly TimeWindow[];
}

/**
 * The desired state of a VaultSecret or VaultFile, or of a ClusterVaultSecret or ClusterVaultFile in
 * one namespace: the input of every decision.
 */
export interface SyncResource {
  readonly kind: "VaultSecret" | "VaultFile" | "ClusterVaultSecret" | "ClusterVaultFile";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly connection: ConnectionRef;
  readonly suspend: boolean;
  /** Minimum time in milliseconds between two changes of the content that follow the vault. */
  readonly refreshIntervalMs: number | undefined;
  /** Time in milliseconds before an expiry from which it is reported; `undefined`: the default. */
  readonly expiryNoticeMs?: number | undefined;
  /** The items that the spec names and, as soon as the list is known, those that `finds` find. */
  readonly items: readonly SyncItem[];
  readonly finds: readonly Find[];
  /** `undefined` if the target has the values themselves. */
  readonly template?: TargetTemplate | undefined;
  readonly target: {
    readonly kind: TargetKind;
    readonly name: string;
    readonly type: string | undefined;
  };
  readonly policy: TargetPolicy;
  readonly whenRemoved: "Delete" | "Retain";
  readonly whenMissing: "Delete" | "Retain";
  /** Value of the annotation vaultsync.dev/force-sync. */
  readonly forceSync: string | undefined;
  /** `name@version` pairs that a user accepted (annotation vaultsync.dev/accept). */
  readonly accepted: ReadonlySet<string>;
  /** When newer versions are followed; `undefined`: immediately, each key by itself. */
  readonly updates?: UpdatePolicy | undefined;
  /** The digest of the versions that a user approved (annotation vaultsync.dev/approve). */
  readonly approved?: string | undefined;
  /** The versions that are kept (annotation vaultsync.dev/hold). */
  readonly hold?: Hold | undefined;
}

/** Reports whether the target belongs to others, and the resource only adds keys to it. */
export const isMerged = ({ policy }: Pick<SyncResource, "policy">): boolean =>
  policy.creationPolicy === "Merge";

/**
 * Reports whether the content of the target is computed from all its sources together, instead of
 * one key from each; see docs/design/engine.md#derived-content.
 */
export const isDerived = ({ items, template }: Pick<SyncResource, "items" | "template">): boolean =>
  template !== undefined || items.some(({ isExtracted }) => isExtracted === true);

/** Reports whether newer versions of its entry change the version of an item. */
export const isFollowing = ({ version }: Pick<SyncItem, "version">): boolean =>
  typeof version !== "number";

/** Reports whether a user accepted this version of the source of an item. */
export function isAccepted(resource: SyncResource, item: SyncItem, version: number): boolean {
  return resource.accepted.has(`${item.source}@${version}`);
}
