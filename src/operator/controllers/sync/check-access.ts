import type { SyncResource } from "../../sync/sync-resource.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import type { EntryKind } from "../../vault-client/connection.ts";
import type { NamespaceAccess } from "../connection/cluster-access.ts";

const fieldOf: Readonly<Record<EntryKind, string>> = { secret: "secrets", file: "files" };

/**
 * Returns whether a resource may read all of its sources, `unknown` if that cannot be decided, or the condition that says what it may
 * not read. A single name that is not allowed is enough: a target never has a part of its keys only.
 */
export function checkAccess(
  { connection, namespace, items }: Pick<SyncResource, "connection" | "namespace" | "items">,
  kind: EntryKind,
  access: NamespaceAccess,
): "allowed" | "unknown" | ReadyCondition {
  if (access === "unknown") return "unknown";
  const of = `of ${connection.kind} ${connection.name}`;
  if (access === "none") {
    const message = `spec.access ${of} has no entry for the namespace ${namespace}: add one, or label the namespace; existing content is kept`;
    return notReady("NamespaceNotAllowed", message);
  }
  const denied = [...new Set(items.map(({ source }) => source).filter((source) => !access(kind, source)))];
  if (denied.length === 0) return "allowed";
  const names = denied.slice(0, 3).join(", ") + (denied.length > 3 ? ` and ${denied.length - 3} more` : "");
  const message = `spec.access[].${fieldOf[kind]} ${of} does not allow the namespace ${namespace} to read ${names}: add the name there, or remove the key; existing content is kept`;
  return notReady("NamespaceNotAllowed", message);
}
