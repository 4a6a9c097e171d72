import type { ConnectionRef } from "../api/connection-key.ts";

/** One key of a target and the source of its bytes. */
export interface SyncItem {
  readonly targetKey: string;
  /** Name of the secret or file in the vault. */
  readonly source: string;
  /** The creator, if the name alone is ambiguous. */
  readonly owner: string | undefined;
  readonly version: "latest" | number;
}

export type TargetKind = "Secret" | "ConfigMap";

/** Properties of a target in addition to its content. */
export interface TargetPolicy {
  readonly creationPolicy: "Owner" | "Orphan" | "Merge";
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly immutable: boolean;
}

/** The desired state of a VaultSecret or VaultFile: the input of every decision. */
export interface SyncResource {
  readonly kind: "VaultSecret" | "VaultFile";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly connection: ConnectionRef;
  readonly suspend: boolean;
  /** Minimum time in milliseconds between two changes of the content that follow the vault. */
  readonly refreshIntervalMs: number | undefined;
  readonly items: readonly SyncItem[];
  readonly target: { readonly kind: TargetKind; readonly name: string; readonly type: string | undefined };
  readonly policy: TargetPolicy;
  readonly whenRemoved: "Delete" | "Retain";
  readonly whenMissing: "Delete" | "Retain";
  /** Value of the annotation vaultsync.dev/force-sync. */
  readonly forceSync: string | undefined;
  /** `name@version` pairs that a user accepted (annotation vaultsync.dev/accept). */
  readonly accepted: ReadonlySet<string>;
}

/** Reports whether the target belongs to others, and the resource only adds keys to it. */
export const isMerged = ({ policy }: Pick<SyncResource, "policy">): boolean => policy.creationPolicy === "Merge";

/** Reports whether a user accepted this version of the source of an item. */
export function isAccepted(resource: SyncResource, item: SyncItem, version: number): boolean {
  return resource.accepted.has(`${item.source}@${version}`);
}
