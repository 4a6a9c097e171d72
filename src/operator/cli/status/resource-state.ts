import { findCondition } from "../../api/conditions.ts";
import {
  clusterVaultConnectionKind,
  type Kind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../api/kinds.ts";
import { type Condition, fileStatus, secretStatus } from "../../api/status.ts";
import { pushStatus } from "../../api/vault-push.ts";
import { connectionStatus } from "../../api/vault-connection.ts";
import type { KubeObject } from "../../kube/resource.ts";

/** The conditions of an object, as far as a user has to know them. */
interface Readiness {
  readonly ready: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  /** The condition refers to the current spec. */
  readonly current: boolean;
  /** The vault has not responded for a while; the target is unchanged. */
  readonly stale: boolean;
}

/** One key of a target. Timestamps are RFC 3339. */
export interface ItemState {
  readonly key: string;
  readonly source: string;
  readonly version?: number | undefined;
  readonly latest?: number | undefined;
  readonly expiresAt?: string | undefined;
  /** Time at which the certificate in the value expires. */
  readonly notAfter?: string | undefined;
  readonly deleteAt?: string | undefined;
}

interface ObjectState extends Readiness {
  readonly kind: string;
  /** Empty for a ClusterVaultConnection. */
  readonly namespace: string;
  readonly name: string;
}

/** State of a VaultSecret, VaultFile or VaultPush according to its status. */
export interface ResourceState extends ObjectState {
  readonly target?: string | undefined;
  readonly syncedAt?: string | undefined;
  readonly items: readonly ItemState[];
  /** Number of items that the status does not list. */
  readonly itemsOmitted: number;
}

/** State of a connection of either kind according to its status. */
export interface ConnectionState extends ObjectState {
  readonly url: string;
  readonly secrets?: number | undefined;
  readonly files?: number | undefined;
  readonly users: number;
  readonly tokenExpiresAt?: string | undefined;
}

function readiness(
  conditions: readonly Condition[] | undefined,
  { metadata }: KubeObject,
): Readiness {
  const ready = findCondition(conditions, "Ready");
  const stale = findCondition(conditions, "Stale")?.status === "True";
  if (ready === undefined) {
    return {
      ready: "Unknown",
      reason: "Pending",
      message: "no operator has reconciled it yet",
      current: false,
      stale,
    };
  }
  const { status, reason, message, observedGeneration } = ready;
  return {
    ready: status,
    reason,
    message,
    current: observedGeneration === metadata.generation,
    stale,
  };
}

function identity({ metadata }: KubeObject, { singular }: Kind) {
  return { kind: singular, namespace: metadata.namespace ?? "", name: metadata.name };
}

/** Returns the state of a VaultPush, whose target is the vault. */
function pushState(object: KubeObject): ResourceState {
  const { data: status = {} } = pushStatus.safeParse(object["status"] ?? {});
  const items = (status.items ?? []).map(({ secretKey, key, filename, version, deleteAt }) => ({
    key: secretKey,
    source: key ?? filename ?? "",
    version,
    latest: version,
    deleteAt,
  }));
  return {
    ...identity(object, vaultPushKind),
    ...readiness(status.conditions, object),
    target: "vault",
    syncedAt: status.syncedAt,
    items,
    itemsOmitted: 0,
  };
}

/**
 * Returns the state of a VaultSecret, VaultFile or VaultPush. A malformed status counts as none.
 */
export function resourceState(object: KubeObject): ResourceState {
  if (object.kind === vaultPushKind.kind) return pushState(object);
  const isFile = object.kind === vaultFileKind.kind;
  const { data: status = {} } = (isFile ? fileStatus : secretStatus).safeParse(
    object["status"] ?? {},
  );
  const items = (status.items ?? []).map((item): ItemState => {
    const { version, latest, expiresAt, notAfter, deleteAt } = item;
    const names =
      "filename" in item
        ? { key: item.key, source: item.filename }
        : { key: item.secretKey, source: item.key };
    return { ...names, version, latest, expiresAt, notAfter, deleteAt };
  });
  return {
    ...identity(object, isFile ? vaultFileKind : vaultSecretKind),
    ...readiness(status.conditions, object),
    target: status.target && `${status.target.kind}/${status.target.name}`,
    syncedAt: status.syncedAt,
    items,
    itemsOmitted: status.itemsOmitted ?? 0,
  };
}

/** Returns the state of a connection of either kind. A malformed status counts as none. */
export function connectionState(object: KubeObject): ConnectionState {
  const { data: status = {} } = connectionStatus.safeParse(object["status"] ?? {});
  const spec = object["spec"];
  const url = typeof spec === "object" && spec !== null && "url" in spec ? String(spec.url) : "";
  return {
    ...identity(
      object,
      object.kind === clusterVaultConnectionKind.kind
        ? clusterVaultConnectionKind
        : vaultConnectionKind,
    ),
    ...readiness(status.conditions, object),
    url,
    secrets: status.secrets,
    files: status.files,
    users: status.users ?? 0,
    tokenExpiresAt: status.token?.expiresAt,
  };
}
