import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../../lib/is-object.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { findItems, foundText, matchesName } from "../../sync/find-items.ts";
import {
  isInTarget,
  keyOf,
  reportedFinds,
  reportedName,
  type SyncStatus,
} from "../../sync/stored-status.ts";
import type { SyncItem, SyncResource } from "../../sync/sync-resource.ts";
import { type SyncedKey, sourceId } from "../../sync/target.ts";
import { parseTimestamp } from "../../sync/timestamp.ts";
import { parsedResource } from "../read-resource.ts";
import { syncKindOf } from "../synced-kind.ts";
import type { ListedSource, Origin } from "./origin.ts";
import { type PlannedResource, specSchemas } from "./planned-resource.ts";

/** A vault and the account by which a connection reads it. */
export interface VaultAccount {
  /** {@link vaultId} of both. */
  readonly vault: string;
  readonly account: string;
}

/** Returns the items of a resource, with the names that its rules found according to its status. */
export function shownItems(resource: SyncResource, before: SyncStatus): readonly SyncItem[] {
  return findItems(resource, {
    now: (find) =>
      reportedFinds(before, find)
        .filter((name) => matchesName(find, name))
        .map((name) => ({ name, own: true })),
    earlier: () => [],
    served: (key) => reportedName(before, key),
  }).items;
}

/** Identity of a vault of which a status only says that it is another one. */
const OTHER_VAULT = "other";

/**
 * Returns where the bytes of a target are from, as the status says it: without creation times, and
 * as if the last spec had made them.
 * @param from what the connection of the resource reads
 */
export function originInStatus(
  resource: SyncResource,
  before: SyncStatus,
  { vault, account }: VaultAccount,
): Origin {
  const items = new Map(shownItems(resource, before).map((item) => [item.id, item]));
  const synced = new Map<string, SyncedKey>();
  const sources = new Map<string, ListedSource>();
  for (const one of before.items ?? []) {
    if (!isInTarget(one)) continue;
    const [id, name, owner] =
      "filename" in one
        ? [one.key, one.filename, undefined]
        : [one.secretKey, one.key, one.owner ?? account];
    const item = items.get(id);
    synced.set(id, {
      version: one.version ?? 0,
      source: sourceId(one.otherVault === true ? OTHER_VAULT : vault, name, owner),
      form: item?.form,
      found: item && foundText(item),
    });
    sources.set(id, { name, owner, deleteAt: parseTimestamp(one.deleteAt) });
  }
  return { synced, sources };
}

/** Returns the version of a key of the target that a status shows. */
export const shownVersion = ({ items = [] }: SyncStatus, id: string): number | undefined =>
  items.find((one) => keyOf(one) === id)?.version;

function isSameSpec(kind: string, one: unknown, other: unknown): boolean {
  const schema = specSchemas[syncKindOf({ kind })];
  return isDeepStrictEqual(schema.safeParse(one).data, schema.safeParse(other).data);
}

/**
 * Returns the resource that the cluster has when its manifest was applied. The manifest has the
 * whole spec; annotations that it does not name stay.
 * @param object the resource of the cluster; `undefined`: there is none
 */
export function appliedResource(
  { manifest, resource }: PlannedResource,
  object: KubeObject | undefined,
): SyncResource {
  const { apiVersion, kind, name, namespace, metadata, spec } = manifest;
  const own = isObject(metadata["annotations"]) ? metadata["annotations"] : {};
  const texts = Object.entries(own).map(([key, value]) => [key, String(value)] as const);
  const { uid = "", generation = 0, annotations = {} } = object?.metadata ?? {};
  const isChanged = object !== undefined && !isSameSpec(kind, spec, object["spec"]);
  const written = {
    name,
    namespace,
    uid,
    generation: generation + (isChanged ? 1 : 0),
    annotations: { ...annotations, ...Object.fromEntries(texts) },
  };
  const parsed = parsedResource({ apiVersion, kind, metadata: written, spec });
  const { accepted, approved, forceSync, hold } = parsed;
  return { ...resource, uid, generation: parsed.generation, accepted, approved, forceSync, hold };
}
