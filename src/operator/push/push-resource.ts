import { parseDuration } from "../lib/duration.ts";
import type { ConnectionRef } from "../api/connection-key.ts";
import { FORCE_SYNC_ANNOTATION } from "../api/names.ts";
import { explainProblems } from "../api/validation.ts";
import { parseDeleteTime, vaultPushSpec, type VaultPushSpec } from "../api/vault-push.ts";
import type { KubeObject } from "../kube/resource.ts";
import { notReady, type ReadyCondition } from "../sync/ready-condition.ts";
import type { EntryKind } from "../vault-client/connection.ts";

/** One key of the Secret and the entry of the vault that it is pushed to. */
export interface PushItem {
  readonly secretKey: string;
  readonly kind: EntryKind;
  readonly name: string;
  /** The creator that the spec names. */
  readonly owner: string | undefined;
  readonly metadata: Readonly<Record<string, string | number>> | undefined;
  readonly deleteMinutes: number | undefined;
}

/** The desired state of a VaultPush. */
export interface PushResource {
  readonly kind: "VaultPush";
  readonly namespace: string;
  readonly name: string;
  readonly connection: ConnectionRef;
  readonly suspend: boolean;
  readonly refreshIntervalMs: number;
  /** Name of the Secret. */
  readonly secret: string;
  readonly items: readonly PushItem[];
  readonly deletionPolicy: "Retain" | "Delete";
  /** Value of the annotation vaultsync.dev/force-sync. */
  readonly forceSync: string | undefined;
}

/** A parsed VaultPush, or the reason why its spec is invalid. */
export type ParsedPush =
  | { readonly ok: true; readonly resource: PushResource }
  | { readonly ok: false; readonly readyCondition: ReadyCondition };

const DEFAULT_REFRESH_INTERVAL = "1m";

type Entry = NonNullable<VaultPushSpec["data"]>[number];

function itemOf({ secretKey, remoteRef, file, metadata, deleteTime }: Entry): PushItem {
  const { key = "", owner } = remoteRef ?? {};
  return {
    secretKey,
    ...(file === undefined ? { kind: "secret", name: key } : { kind: "file", name: file.filename }),
    owner: owner?.toLowerCase(),
    metadata,
    deleteMinutes: deleteTime === undefined ? undefined : parseDeleteTime(deleteTime),
  };
}

/**
 * Parses and validates a VaultPush, because the installed CRD may be older than the operator.
 * Total.
 */
export function parsePush({ metadata, spec: written }: KubeObject): ParsedPush {
  const { success, data: spec, error } = vaultPushSpec.safeParse(written);
  if (!success)
    return { ok: false, readyCondition: notReady("InvalidSpec", explainProblems(error)) };
  const {
    connectionRef,
    suspend = false,
    refreshInterval = DEFAULT_REFRESH_INTERVAL,
    deletionPolicy = "Retain",
  } = spec;
  return {
    ok: true,
    resource: {
      kind: "VaultPush",
      namespace: metadata.namespace ?? "",
      name: metadata.name,
      connection: { kind: connectionRef.kind ?? "VaultConnection", name: connectionRef.name },
      suspend,
      refreshIntervalMs: parseDuration(refreshInterval),
      secret: spec.secret.name,
      items: (spec.data ?? []).map(itemOf),
      deletionPolicy,
      forceSync: metadata.annotations?.[FORCE_SYNC_ANNOTATION],
    },
  };
}

/** Returns the name of the entry of an item for messages. */
export const entryOf = ({ kind, name }: Pick<PushItem, "kind" | "name">): string =>
  `${kind} ${name}`;

/**
 * Identifies an item in the memory of a resource by its entry: another key of the Secret may be
 * pushed to it from now on.
 */
export const itemId = ({ kind, name }: Pick<PushItem, "kind" | "name">): string =>
  JSON.stringify([kind, name]);

/** Returns the kinds of these items. */
export const kindsOf = (items: readonly PushItem[]): readonly EntryKind[] => [
  ...new Set(items.map(({ kind }) => kind)),
];
