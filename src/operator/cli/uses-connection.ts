import { isObject } from "../../lib/is-object.ts";
import type { ConnectionRef } from "../api/connection-key.ts";
import type { KubeObject } from "../kube/resource.ts";

/** Reports whether a resource refers to a connection, whose namespace is its own if it has one. */
export function usesConnection(
  { spec }: KubeObject,
  { kind, name }: Pick<ConnectionRef, "name"> & { readonly kind: string },
): boolean {
  const ref = isObject(spec) ? spec["connectionRef"] : undefined;
  return isObject(ref) && (ref["kind"] ?? "VaultConnection") === kind && ref["name"] === name;
}
