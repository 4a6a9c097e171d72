import {
  clusterVaultConnectionKind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../api/kinds.ts";
import type { EventRecord } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";

const kinds = new Map(
  [
    vaultConnectionKind,
    clusterVaultConnectionKind,
    vaultSecretKind,
    vaultFileKind,
    vaultPushKind,
  ].map((kind) => [kind.kind, kind]),
);

/** Returns the fields of an event that say which custom resource it is about. */
export function regarding({
  kind,
  metadata,
}: KubeObject): Pick<EventRecord, "resource" | "namespace" | "name" | "uid"> {
  const { namespace = "", name, uid = "" } = metadata;
  return { resource: kinds.get(kind) ?? vaultSecretKind, namespace, name, uid };
}
