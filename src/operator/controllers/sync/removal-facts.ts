import { hasOwner } from "../../api/received-secrets.ts";
import { claimedNames, matchesName, metadataRule } from "../../sync/find-items.ts";
import type { Find, SyncResource } from "../../sync/sync-resource.ts";
import {
  readStatus,
  removesWhenGone,
  reportedDeadline,
  reportedFinds,
  reportedOwners,
  showsServed,
  type SyncStatus,
} from "../../sync/sync-status.ts";
import { entryIds, type SyncedKey, targetState } from "../../sync/target.ts";
import type { EntryKind } from "../../vault-client/connection.ts";
import type { MetadataRule, RemovalFacts, Selection } from "../connection/connection-users.ts";
import type { ReferenceIndex } from "./reference-index.ts";
import { parseSyncKey, type SyncKind } from "../../sync/sync-key.ts";
import type { SyncedKind } from "./sync-reconciler.ts";
import type { TargetRecords } from "./target-records.ts";

const syncKindOf: Readonly<Record<EntryKind, SyncKind>> = {
  secret: "VaultSecret",
  file: "VaultFile",
};

interface Resources {
  readonly references: ReferenceIndex;
  readonly kinds: Readonly<Record<SyncKind, SyncedKind>>;
  readonly targets: Pick<TargetRecords, "metadata">;
}

/**
 * Returns the keys of the resources that refer to a name: all, or those with a rule of this id that
 * matches the name, and that have or request the entry of this owner.
 */
function usersOf(
  resources: Resources,
  connection: string,
  kind: EntryKind,
  name: string,
  { rule, owner }: Selection = {},
): readonly string[] {
  const { references } = resources;
  const isOf = (find: Find): boolean => metadataRule(find) === rule && matchesName(find, name);
  const keys = [...references.ofName(connection, syncKindOf[kind], name)].filter(
    (key) => rule === undefined || references.get(key)?.rules?.some(isOf) === true,
  );
  if (owner === undefined) return keys;
  const ids = entryIds("", name, owner);
  return keys.filter((key) =>
    reported(resources, [key]).some(
      ({ resource }) =>
        resource.items.some((item) => item.source === name && hasOwner(item, owner)) ||
        claimsOf(resources, resource).some(({ source }) => ids.some((id) => source.endsWith(id))),
    ),
  );
}

/** Returns the rules for a name by id. */
function rulesOf(
  { references, kinds }: Resources,
  connection: string,
  kind: EntryKind,
  name: string,
): Iterable<MetadataRule> {
  const rules = new Map<string, MetadataRule>();
  const { source } = kinds[syncKindOf[kind]];
  for (const key of references.ofName(connection, syncKindOf[kind], name)) {
    for (const find of references.get(key)?.rules ?? []) {
      const id = metadataRule(find);
      if (id === undefined || rules.has(id) || !matchesName(find, name)) continue;
      rules.set(id, {
        id,
        finds: (snapshot, owner) => source.isListed(snapshot, name, { owner, find }),
      });
    }
  }
  return rules.values();
}

interface Reported {
  readonly resource: SyncResource;
  readonly status: SyncStatus;
}

/** Returns the status of a resource by its key of the queue. */
function statusOf({ kinds }: Resources, key: string): SyncStatus {
  const { kind, objectKey } = parseSyncKey(key);
  return readStatus(kind, kinds[kind].resources.get(objectKey)?.["status"]);
}

/** Returns resources and their statuses by the keys of the queue. */
function* reported({ kinds }: Resources, keys: Iterable<string>): Generator<Reported> {
  for (const key of keys) {
    const { kind, objectKey } = parseSyncKey(key);
    const object = kinds[kind].resources.get(objectKey);
    if (object === undefined) continue;
    yield {
      resource: kinds[kind].source.parse(object).resource,
      status: readStatus(kind, object["status"]),
    };
  }
}

/**
 * Returns the names that rules of this id found. A status shows a limited number of names, so it
 * counts only where no target is known, and for this generation of the spec: what a changed rule
 * does not find says nothing about the vault.
 */
function claimedBy(
  resources: Resources,
  connection: string,
  kind: SyncKind,
  rule: string,
): ReadonlySet<string> {
  const { references, targets } = resources;
  const names = new Set<string>();
  const isUser = (key: string): boolean => {
    const { kind: ofKind, rules = [] } = references.get(key) ?? {};
    return ofKind === kind && rules.some((find) => metadataRule(find) === rule);
  };
  for (const { resource, status } of reported(
    resources,
    [...references.ofConnection(connection)].filter(isUser),
  )) {
    const state = targetState(resource, targets.metadata(resource));
    const isShown = status.observedGeneration === resource.generation;
    for (const find of resource.finds) {
      if (metadataRule(find) !== rule) continue;
      const shown = isShown ? reportedFinds(status, find) : [];
      const found = state.state === "owned" ? claimedNames(find, state.synced, () => true) : shown;
      for (const name of found) names.add(name);
    }
  }
  return names;
}

/** Returns what the target of a resource claims to have. */
function claimsOf({ targets }: Resources, resource: SyncResource): readonly SyncedKey[] {
  const state = targetState(resource, targets.metadata(resource));
  return state.state === "owned" ? [...state.synced.values()] : [];
}

/**
 * Reports whether the target of a resource claims bytes for an item of this name, or of an entry
 * that a rule found.
 */
function isClaimed({ targets }: Resources, resource: SyncResource, name: string): boolean {
  const state = targetState(resource, targets.metadata(resource));
  if (state.state !== "owned") return false;
  if (resource.items.some(({ source, id }) => source === name && state.synced.has(id))) return true;
  return resource.finds.some((find) => claimedNames(find, state.synced, () => true).includes(name));
}

/** Returns what the resources of a connection refer to and show. */
export function removalFactsOf(resources: Resources, connection: string): RemovalFacts {
  const { references } = resources;
  const users = (kind: EntryKind, name: string, selection?: Selection): Generator<Reported> =>
    reported(resources, usersOf(resources, connection, kind, name, selection));
  const claimOf = (resource: SyncResource, name: string) => () =>
    isClaimed(resources, resource, name);
  return {
    isReferenced: (kind, name, selection) =>
      selection === undefined
        ? references.ofName(connection, syncKindOf[kind], name).size > 0
        : usersOf(resources, connection, kind, name, selection).length > 0,
    hasReferences: (kind) => references.sourcesOf(connection, syncKindOf[kind]).size > 0,
    rulesOf: (kind, name) => rulesOf(resources, connection, kind, name),
    wasServed: (kind, name, selection) =>
      users(kind, name, selection).some(({ resource, status }) =>
        showsServed(resource, status, name, claimOf(resource, name)),
      ),
    ownersOf: (name) =>
      usersOf(resources, connection, "secret", name).flatMap((key) =>
        reportedOwners(statusOf(resources, key), name),
      ),
    deadlineOf: (kind, name) =>
      users(kind, name)
        .map(({ status }) => reportedDeadline(status, name))
        .find((deadline) => deadline !== undefined),
    removes: (kind, name, isDue, selection) =>
      users(kind, name, selection).some(({ resource, status }) =>
        removesWhenGone(resource, status, name, isDue, claimOf(resource, name)),
      ),
    claimedBy: (kind, rule) => claimedBy(resources, connection, syncKindOf[kind], rule),
    targetsOf: (kind, name, selection) =>
      usersOf(resources, connection, kind, name, selection).flatMap(
        (key) => references.get(key)?.target ?? [],
      ),
  };
}
