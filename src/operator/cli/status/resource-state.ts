import { findCondition } from "../../api/conditions.ts";
import { clusterFileStatus, clusterSecretStatus, type FanOutStatus } from "../../api/fan-out.ts";
import {
  clusterVaultConnectionKind,
  type Kind,
  syncedKinds,
  vaultConnectionKind,
  vaultPushKind,
} from "../../api/kinds.ts";
import { type Condition, fileStatus, secretStatus } from "../../api/status.ts";
import { pushStatus } from "../../api/vault-push.ts";
import { connectionStatus } from "../../api/vault-connection.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { entriesOf, fansOut } from "../../sync/sync-key.ts";
import { syncKindOf } from "../synced-kind.ts";

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
  /** Creator of the secret, if it is not the account of the connection. */
  readonly owner?: string | undefined;
  readonly version?: number | undefined;
  readonly latest?: number | undefined;
  readonly expiresAt?: string | undefined;
  /** Time at which the certificate in the value expires. */
  readonly notAfter?: string | undefined;
  readonly deleteAt?: string | undefined;
}

interface ObjectState extends Readiness {
  readonly kind: string;
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
}

/** State of a resource according to its status. */
export interface ResourceState extends ObjectState {
  readonly target?: string | undefined;
  readonly syncedAt?: string | undefined;
  readonly items: readonly ItemState[];
  /** Number of items that the status does not list. */
  readonly itemsOmitted: number;
}

/**
 * State of a ClusterVaultSecret or ClusterVaultFile according to its status: its items are from a
 * namespace in sync.
 */
export interface FanOutState extends ResourceState {
  /** Counts of namespaces, as in the status. */
  readonly namespaces?: FanOutStatus["namespaces"];
  /** The first namespaces whose target is not in sync. */
  readonly failures: NonNullable<FanOutStatus["failures"]>;
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
 * Returns the state of a ClusterVaultSecret or ClusterVaultFile. A malformed status counts as none.
 */
export function fanOutState(object: KubeObject): FanOutState {
  const isFile = entriesOf(syncKindOf(object)) === "file";
  const schema = isFile ? clusterFileStatus : clusterSecretStatus;
  const { data: status = {} } = schema.safeParse(object["status"] ?? {});
  const { namespaces, failures = [] } = status;
  return { ...resourceState(object), namespaces, failures };
}

/** Returns the state of a resource of any kind. */
export const stateOf = (object: KubeObject): ResourceState | FanOutState =>
  fansOut(syncKindOf(object)) ? fanOutState(object) : resourceState(object);

/**
 * Returns the state of a resource by the parts of its status that all kinds have. A malformed status
 * counts as none.
 */
export function resourceState(object: KubeObject): ResourceState {
  if (object.kind === vaultPushKind.kind) return pushState(object);
  const kind = syncKindOf(object);
  const schema = entriesOf(kind) === "file" ? fileStatus : secretStatus;
  const { data: status = {} } = schema.safeParse(object["status"] ?? {});
  const items = (status.items ?? []).map((item): ItemState => {
    const { version, latest, expiresAt, notAfter, deleteAt } = item;
    const names =
      "filename" in item
        ? { key: item.key, source: item.filename }
        : { key: item.secretKey, source: item.key, owner: item.owner };
    return { ...names, version, latest, expiresAt, notAfter, deleteAt };
  });
  return {
    ...identity(object, syncedKinds[kind]),
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
