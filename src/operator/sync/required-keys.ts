import type { SyncResource } from "./sync-resource.ts";

type Target = Pick<SyncResource["target"], "type">;

/** Keys that Kubernetes requires in a Secret of these types: each, or one of several. */
const requiredKeys = new Map([
  ["kubernetes.io/tls", [["tls.crt"], ["tls.key"]]],
  ["kubernetes.io/dockerconfigjson", [[".dockerconfigjson"]]],
  ["kubernetes.io/dockercfg", [[".dockercfg"]]],
  ["kubernetes.io/ssh-auth", [["ssh-privatekey"]]],
  ["kubernetes.io/basic-auth", [["username", "password"]]],
]);

/**
 * Returns what a Secret of a type would lack with these keys: of each requirement, the keys any of
 * which meets it.
 */
export function unmetRequirements(
  { type = "" }: Target,
  present: Iterable<string>,
): readonly (readonly string[])[] {
  const keys = new Set(present);
  return (requiredKeys.get(type) ?? []).filter((any) => !any.some((key) => keys.has(key)));
}

/** Returns the keys that the type of the target requires and that it would not have. */
export const missingKeys = (
  { target }: { readonly target: Target },
  present: Iterable<string>,
): string[] => unmetRequirements(target, present).map((any) => any.join(" or "));

/** Says which keys the type of a Secret requires. */
export const requiresKeys = (
  { target }: { readonly target: Target },
  keys: readonly string[],
): string => `a Secret of type ${target.type} requires the keys ${keys.join(" and ")}`;
