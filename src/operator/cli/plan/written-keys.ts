import { isFollowing, type SyncItem, type UpdatePolicy } from "../../sync/sync-resource.ts";
import type { PlannedPush, PlannedResource } from "./planned-resource.ts";
import type { PlannedKey } from "./print-plan.ts";
import type { ResolvedResource } from "./resolve-references.ts";

/** Returns a row for each entry of the vault that a push writes. */
export const pushedKeys = ({ manifest, secret, items }: PlannedPush): PlannedKey[] =>
  items.map(({ key, entry }) => ({
    resource: `vaultpush/${manifest.name}`,
    namespace: manifest.namespace,
    target: `vault ${entry}`,
    key,
    source: `Secret/${secret}`,
  }));

/** Returns the gates of a spec, in their order. */
const gatesOf = ({ needsApproval, windows }: UpdatePolicy): string =>
  [needsApproval ? "AwaitingApproval" : [], windows.length > 0 ? "OutsideWindow" : []]
    .flat()
    .join(", ");

/** Returns a key of a target, or a variable of its template, as tables name it. */
export const keyText = (id: string, template: unknown): string =>
  template === undefined ? id : `{{ ${id} }}`;

/** Returns the row of an item of a resource, without its version. */
export function rowOf(
  { manifest, resource: { target, template, updates } }: PlannedResource,
  item: Pick<SyncItem, "id" | "source" | "version">,
): PlannedKey {
  return {
    resource: `${manifest.kind.toLowerCase()}/${manifest.name}`,
    namespace: manifest.namespace,
    target: `${target.kind}/${target.name}`,
    key: keyText(item.id, template),
    source: item.source,
    ...(isFollowing(item) && updates !== undefined && { updates: gatesOf(updates) }),
  };
}

/**
 * Returns a row for each source of a resource; without the list of the vault, one for each rule as
 * well.
 */
export function writtenKeys(
  planned: PlannedResource,
  resolved: ResolvedResource | undefined,
): PlannedKey[] {
  const { items, finds } = planned.resource;
  if (resolved === undefined) {
    const rules = finds.map(
      ({ id, pattern }) => ({ id, source: pattern, version: "latest" }) as const,
    );
    return [...items, ...rules].map((item) => rowOf(planned, item));
  }
  const versions = new Map(
    resolved.resolutions.map((one) => [one.item, one.state === "found" ? one.version : undefined]),
  );
  return resolved.resource.items.map((item) => ({
    ...rowOf(planned, item),
    version: versions.get(item),
  }));
}
