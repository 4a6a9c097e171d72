/** One key of a target and where its bytes come from. */
export interface SyncItem {
  readonly targetKey: string;
  /** Name of the secret or file in the vault. */
  readonly source: string;
  /** The creator, where the name alone may not be enough. */
  readonly owner: string | undefined;
  readonly version: "latest" | number;
}

export type TargetKind = "Secret" | "ConfigMap";

/** What a VaultSecret or VaultFile asks for, whatever its kind: the input of every decision. */
export interface SyncResource {
  readonly kind: "VaultSecret" | "VaultFile";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Name of the VaultConnection in the same namespace. */
  readonly connection: string;
  readonly suspend: boolean;
  readonly items: readonly SyncItem[];
  readonly target: { readonly kind: TargetKind; readonly name: string; readonly type: string | undefined };
  readonly whenRemoved: "Delete" | "Retain";
  /** `name@version` pairs that a person accepted (annotation vaultsync.dev/accept). */
  readonly accepted: ReadonlySet<string>;
}

/** Whether a person accepted this version of the item's source. */
export function isAccepted(resource: SyncResource, item: SyncItem, version: number): boolean {
  return resource.accepted.has(`${item.source}@${version}`);
}
