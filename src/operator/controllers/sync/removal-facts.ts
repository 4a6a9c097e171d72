import { hasOwner } from "../../api/received-secrets.ts";
import { claimedNames, matchesName, metadataRule } from "../../sync/find-items.ts";
import { entriesOf, type SyncKind } from "../../sync/sync-key.ts";
import type { Find } from "../../sync/sync-resource.ts";
import {
  removesWhenGone,
  reportedDeadline,
  reportedFinds,
  reportedOwners,
  showsBytes,
  showsMissing,
  showsServed,
  showsUnconfirmed,
} from "../../sync/stored-status.ts";
import { entryIds, sourceId } from "../../sync/target.ts";
import type { EntryKind } from "../../vault-client/connection.ts";
import type { MetadataRule, RemovalFacts, Selection } from "../connection/connection-users.ts";
import type { ReferenceIndex } from "./reference-index.ts";
import type { ShownResource } from "./shown-resource.ts";
import type { SyncedKind } from "./source-kind.ts";

interface Resources {
  /** Email address of the account of the connection. */
  readonly account: string;
  readonly references: ReferenceIndex;
  readonly kinds: Readonly<Record<SyncKind, SyncedKind>>;
  /** Returns what a resource shows, by its key of the queue; see `resourceReader`. */
  readonly read: (key: string) => ShownResource | undefined;
}

/**
 * Returns the keys of the resources that refer to a name: all, or those with a rule of this id that
 * matches the name, and that have or request the entry of this owner.
 */
function* usersOf(
  resources: Resources,
  connection: string,
  kind: EntryKind,
  name: string,
  { rule, owner }: Selection = {},
): Generator<string> {
  const { references } = resources;
  const isOf = (find: Find): boolean => metadataRule(find) === rule && matchesName(find, name);
  const ids = owner === undefined ? [] : entryIds("", name, owner);
  const isOfOwner = (shown: ShownResource | undefined): boolean =>
    shown !== undefined && (requests(shown, name, owner) || shown.claims(ids));
  for (const key of references.ofName(connection, kind, name)) {
    if (rule !== undefined && references.get(key)?.rules?.some(isOf) !== true) continue;
    if (owner === undefined || isOfOwner(resources.read(key))) yield key;
  }
}

/** Reports whether a spec names this owner for a source. */
const requests = ({ resource }: ShownResource, name: string, owner?: string): boolean =>
  resource.items.some((item) => item.source === name && hasOwner(item, owner));

/** Returns the facts of an entry that a resource shows; `hasClaim`: a target claims its bytes. */
function entryOf(
  { resource, status, claimed, claims, claimsUnder }: ShownResource,
  name: string,
  account: string,
) {
  const idsOf = (): string[] => {
    const owners = resource.items.flatMap(({ source, owner }) => (source === name && owner) || []);
    const ids = [account, ...owners].flatMap((owner) => entryIds("", name, owner));
    return [sourceId("", name, undefined), ...ids];
  };
  const hasClaim = (): boolean => claimed.has(name) || claims(entryIds("", name, account));
  const hasBytes = (): boolean => showsBytes(status, name) || hasClaim();
  const removes = (isDue: boolean): boolean =>
    removesWhenGone(resource, status, name, isDue, hasClaim);
  return {
    hasBytes,
    hasOwnBytes: (): boolean => showsBytes(status, name) || claims(idsOf()),
    removes,
    wasServed: (): boolean => showsServed(resource, status, name, hasClaim),
    wasMissing: (): boolean => showsMissing(status, name, hasClaim),
    isUnconfirmed: (): boolean =>
      showsUnconfirmed(status, name, (key) => claimsUnder(key, idsOf())),
  };
}

/** Returns the rules for a name by id. */
function rulesOf(
  { references, kinds }: Resources,
  connection: string,
  kind: EntryKind,
  name: string,
): Iterable<MetadataRule> {
  const rules = new Map<string, MetadataRule>();
  for (const key of references.ofName(connection, kind, name)) {
    const { kind: ofKind, rules: found = [] } = references.get(key) ?? {};
    for (const find of found) {
      const id = metadataRule(find);
      if (ofKind === undefined || id === undefined || rules.has(id) || !matchesName(find, name))
        continue;
      const { source } = kinds[ofKind];
      rules.set(id, {
        id,
        finds: (snapshot, owner) => source.isListed(snapshot, name, { owner, find }),
      });
    }
  }
  return rules.values();
}

/**
 * Returns the names that rules of this id found. A status shows a limited number of names, so it
 * counts only where no target is known, and for this generation of the spec: what a changed rule
 * does not find says nothing about the vault.
 */
function claimedBy(
  resources: Resources,
  connection: string,
  kind: EntryKind,
  rule: string,
): ReadonlySet<string> {
  const { references } = resources;
  const names = new Set<string>();
  const isUser = (key: string): boolean => {
    const { kind: ofKind, rules = [] } = references.get(key) ?? {};
    return (
      ofKind !== undefined &&
      entriesOf(ofKind) === kind &&
      rules.some((find) => metadataRule(find) === rule)
    );
  };
  for (const key of [...references.ofConnection(connection)].filter(isUser)) {
    const shown = resources.read(key);
    if (shown === undefined) continue;
    const { resource, status, synced } = shown;
    const isShown = status.observedGeneration === resource.generation;
    for (const find of resource.finds) {
      if (metadataRule(find) !== rule) continue;
      const reported = isShown ? reportedFinds(status, find) : [];
      const claimed = synced.flatMap((one) => claimedNames(find, one, () => true));
      for (const name of synced.length > 0 ? claimed : reported) names.add(name);
    }
  }
  return names;
}

/** Returns what the resources of a connection refer to and show. */
export function removalFactsOf(resources: Resources, connection: string): RemovalFacts {
  const { references, account } = resources;
  function* users(kind: EntryKind, name: string, selection?: Selection): Generator<ShownResource> {
    for (const key of usersOf(resources, connection, kind, name, selection)) {
      const shown = resources.read(key);
      if (shown !== undefined) yield shown;
    }
  }
  const entries = (kind: EntryKind, name: string, selection?: Selection) =>
    users(kind, name, selection).map((shown) => entryOf(shown, name, account));
  return {
    isReferenced: (kind, name, selection) =>
      selection === undefined
        ? references.ofName(connection, kind, name).size > 0
        : usersOf(resources, connection, kind, name, selection).some(() => true),
    hasReferences: (kind) => references.sourcesOf(connection, kind).size > 0,
    rulesOf: (kind, name) => rulesOf(resources, connection, kind, name),
    wasServed: (...entry) => entries(...entry).some((one) => one.wasServed()),
    wasMissing: (...entry) => entries(...entry).some((one) => one.wasMissing()),
    isUnconfirmed: (...entry) => entries(...entry).some((one) => one.isUnconfirmed()),
    hasBytes: (...entry) => entries(...entry).some((one) => one.hasBytes()),
    hasOwnBytes: (...entry) => entries(...entry).some((one) => one.hasOwnBytes()),
    ownersOf: (name) => users("secret", name).flatMap(({ status }) => reportedOwners(status, name)),
    deadlineOf: (kind, name, id) =>
      users(kind, name)
        .filter(({ status }) => status.connection === id)
        .map(({ status }) => reportedDeadline(status, name))
        .find((deadline) => deadline !== undefined),
    removes: (kind, name, isDue, selection) =>
      entries(kind, name, selection).some((one) => one.removes(isDue)),
    removesBytes: (kind, name, isDue, selection) =>
      entries(kind, name, selection).some((one) => one.hasBytes() && one.removes(isDue)),
    claimedBy: (kind, rule) => claimedBy(resources, connection, kind, rule),
    targetsOf: (kind, name, selection) =>
      usersOf(resources, connection, kind, name, selection)
        .map((key) => references.get(key)?.target)
        .filter((target) => target !== undefined),
  };
}
