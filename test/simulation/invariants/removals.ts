import { MANAGED_BY, MANAGED_BY_LABEL } from "../../../src/operator/api/names.ts";
import { CLOCK_SKEW_MS } from "../../../src/operator/lib/clock-skew.ts";
import { CONFIG_MAPS, type KubeObject, SECRETS } from "../../../src/operator/kube/resource.ts";
import { findRequesting } from "../fanned-out.ts";
import type { Origin } from "../simulated-vaults.ts";
import { vaultAt, Violation, type World } from "../world.ts";
import type { ConnectionSpec } from "./spec-history.ts";
import {
  isDerived,
  type Item,
  itemsOf,
  type Output,
  outputsOf,
  readsFiles,
  type Spec,
  targetOf,
} from "./spec-items.ts";
import { contentOf, isSameSource, ownerOf, type TargetWrite } from "./target-write.ts";

/** Shortest time in which a list does not show that an entry is back, in milliseconds. */
const UNSEEN_MS = 9_000;
/** Time after which every list shows that an entry is gone, in milliseconds. */
const MISSING_MS = 180_000;

/** A spec that the operator may follow, with a spec of its connection. */
interface Known {
  readonly spec: Spec;
  readonly connection: ConnectionSpec;
}

/**
 * No key that a resource requests is removed, unless its source is gone in the way that its policy
 * requires (I1, I6). Returns the keys whose source is gone.
 */
export function checkRemovals(write: TargetWrite): readonly string[] {
  const { before, after, was } = write;
  if (before) return checkKeys(write, before, was);
  if (after && !write.isMerge) checkNext(write, after);
  return [];
}

/** A former target is removed as soon as the next one is there: that one has all of its keys. */
function checkNext(write: TargetWrite, after: KubeObject): void {
  const { world, namespace, owner, user, writtenAt } = write;
  // The operator may not see yet what another process wrote.
  const isSeen = world.clock.monotonic() - writtenAt > world.watchDelayMs(namespace) + UNSEEN_MS;
  if (!isSeen || world.replicas.configOf(user).targetWatch === "off") return;
  for (const former of [...world.server.all(SECRETS), ...world.server.all(CONFIG_MAPS)]) {
    const { labels = {}, namespace: where, name } = former.metadata;
    const isSame = former.kind === after.kind && name === after.metadata.name;
    const isFormer = !isSame && where === namespace && ownerOf(former) === owner;
    if (isFormer && labels[MANAGED_BY_LABEL] === MANAGED_BY)
      checkKeys(write, after, contentOf(former));
  }
}

function checkKeys(
  write: TargetWrite,
  before: KubeObject,
  was: TargetWrite["was"],
): readonly string[] {
  const { world, history, name, namespace, after, owner, is, keysAt } = write;
  const gone: string[] = [];
  const [kind = "", resourceName = ""] = owner.split("/");
  const object = findRequesting(world.server, namespace, owner);
  // The operator may not know yet that a resource was deleted.
  const recent = history.recent(namespace, owner);
  const spec = (object?.["spec"] as Spec | undefined) ?? recent.at(-1);
  if (!spec) {
    if (!after)
      throw new Violation(
        "I6",
        `${name} was removed although ${owner} does not exist: only Kubernetes may do that`,
      );
    return gone;
  }
  const specs = [spec, ...recent];
  const targets = specs.map((each) => targetOf(kind, resourceName, each));
  const isNamed = (target: (typeof targets)[number]): boolean =>
    target.name === before.metadata.name && target.kind === before.kind;
  if (write.before !== undefined && !targets.every(isNamed)) return gone;
  // The operator may not know the last specs yet.
  const known = specs.flatMap((each) =>
    history.recentConnections(namespace, each).map((connection) => ({ spec: each, connection })),
  );
  const had = Object.values(was).flatMap((base64) => world.vaults.originsIn(base64));
  const isUnknown = world.unknownTargets.has(before.metadata.uid ?? "");
  if (!isUnknown) checkFoundNames({ ...write, was }, specs, known, had);
  if (!isUnknown) checkRenamedKeys({ ...write, was }, specs, known, had);
  const isAnyGone = (items: (of: Spec) => readonly Item[]): boolean =>
    known.some((each) =>
      items(each.spec).some((item) => isGone(world, kind, item, each.spec, each.connection, had)),
    );
  for (const output of outputsOf(spec)) {
    const { key } = output;
    const sources = world.vaults.originsIn(was[key] ?? "").map((origin) => origin.name);
    if (sources.length === 0 || key in is || !hasSource(output, sources)) continue;
    if (isUnknown && output.absence === "found") continue;
    if (output.absence === "member" && !isMember(write, output)) continue;
    if (hasNoPrevious(write, output)) continue;
    const ofSpec = (each: Spec): readonly Output[] =>
      outputsOf(each).filter((other) => other.key === key && hasSource(other, sources));
    if (specs.some((each) => ofSpec(each).length === 0)) continue;
    if (known.length === 0) continue;
    // An edit replaced a key that the spec named, or another rule found, by a rule that does not
    // find its source. It may have waited for a list, also of another vault.
    const edited = [...specs, ...history.since(namespace, owner, keysAt.get(key) ?? -Infinity)];
    const isUnfound =
      output.absence === "found" &&
      edited.some((each) => ofSpec(each).some((other) => !isSameRule(other, output))) &&
      known.some(({ connection }) =>
        output.items.some((item) => isMissing(world, kind, item, connection, had)),
      );
    if (isUnfound) continue;
    // What is made of all sources together, or was by an earlier spec, is removed with any of them.
    const needsAll = edited.some(isDerived) || (spec.target?.type ?? "Opaque") !== "Opaque";
    const isOwnGone = isAnyGone((each) => ofSpec(each).flatMap(({ items }) => items));
    const isWholeGone = needsAll && Object.keys(is).length === 0 && isAnyGone(itemsOf);
    // A member does not name its object: with one of several objects, the missing members leave.
    const isMemberGone =
      output.items.some(isExtracted) && isAnyGone((each) => itemsOf(each).filter(isExtracted));
    if (!isOwnGone && !isWholeGone && !isMemberGone) {
      const what = after ? `key ${key} was removed` : "the target was removed";
      throw new Violation(
        "I1",
        `${name}: ${what}, although ${sources.join()} is not gone as its policy requires`,
      );
    }
    gone.push(key);
  }
  return gone;
}

/**
 * Yields the keys whose bytes are of a source that a target has under no key any more. What several
 * sources made belongs to none of them.
 */
function* lostSources({
  world: { vaults },
  was,
  is,
}: TargetWrite): Generator<{ readonly key: string; readonly origin: Origin }, void> {
  const kept = Object.values(is).flatMap((base64) => vaults.originsIn(base64));
  for (const [key, base64] of Object.entries(was)) {
    const [origin, another] = vaults.originsIn(base64);
    if (origin === undefined || another !== undefined) continue;
    if (!kept.some((one) => isSameSource(one, origin))) yield { key, origin };
  }
}

/**
 * A name that a rule finds, and that is not listed, keeps its bytes whatever key an edited rule makes
 * of it, and whichever name makes the same one (I1).
 */
function checkFoundNames(
  write: TargetWrite,
  specs: readonly Spec[],
  known: readonly Known[],
  had: readonly Origin[],
): void {
  const { world, history, name, namespace, after, owner, is, writtenAt } = write;
  const [kind = ""] = owner.split("/");
  // The specs since the last write: what an entry of data had is not found by a rule.
  const all = [...specs, ...history.since(namespace, owner, writtenAt)];
  for (const { key, origin } of lostSources(write)) {
    const others = world.vaults.originsIn(is[key] ?? "");
    // An edit may give the key to a source that it names, and the vault the name to another owner.
    const isGiven = specs.some((spec) => namesKey(spec, key)) || others.length === 0;
    if (key in is && (isGiven || others.some((one) => one.name === origin.name))) continue;
    // The operator may still follow a spec that names the key.
    const itemOf = (spec: Spec): Item | undefined =>
      (isDerived(spec) ? [] : outputsOf(spec)).find(
        (one) => (one.absence === "found" || one.key === key) && hasSource(one, [origin.name]),
      )?.items[0];
    if (known.length === 0 || all.some((spec) => itemOf(spec)?.absence !== "found")) continue;
    const isLost = known.every(({ spec, connection }) => {
      const item = itemOf(spec)!;
      return (
        isCertainlyMissing(world, kind, item, connection, key in is ? 0 : MISSING_MS) &&
        !isGone(world, kind, item, spec, connection, had)
      );
    });
    if (!isLost) continue;
    const change = key in is ? "got other bytes" : "was removed";
    const what = after ? `key ${key} ${change}` : "the target was removed";
    throw new Violation(
      "I1",
      `${name}: ${what}, although ${origin.name} is missing, and a rule had found it`,
    );
  }
}

/** Reports whether a spec, and not one of its rules, names a key. */
const namesKey = (spec: Spec, key: string): boolean =>
  outputsOf(spec).some((one) => one.key === key && one.absence !== "found");

/**
 * A missing entry whose key an edit renamed keeps its bytes under the former one, until a spec gives
 * that key to something else (I1).
 */
function checkRenamedKeys(
  write: TargetWrite,
  specs: readonly Spec[],
  known: readonly Known[],
  had: readonly Origin[],
): void {
  if (known.length === 0) return;
  const { world, name, owner, was } = write;
  const [kind = ""] = owner.split("/");
  for (const { key, origin } of lostSources(write)) {
    // The operator may still follow a spec that names the key.
    const itemOf = (spec: Spec): Item | undefined => {
      if (isDerived(spec) || (spec.target?.type ?? "Opaque") !== "Opaque") return undefined;
      const named = outputsOf(spec).filter(({ absence }) => absence !== "found");
      const ofKey = named.find((one) => one.key === key);
      const ofSource = named.find((one) => hasSource(one, [origin.name]) && !(one.key in was));
      return (ofKey ?? ofSource)?.items.find(({ source }) => source === origin.name);
    };
    if (specs.some((spec) => itemOf(spec) === undefined)) continue;
    const isLost = known.every(({ spec, connection }) => {
      const item = itemOf(spec)!;
      return (
        vaultAt(connection.url) === origin.vault &&
        (item.owner ?? origin.owner) === origin.owner &&
        isTrustedOwner(connection, item, origin.owner) &&
        isCertainlyMissing(world, kind, item, connection, MISSING_MS) &&
        !isGone(world, kind, item, spec, connection, had)
      );
    });
    if (!isLost) continue;
    throw new Violation(
      "I1",
      `${name}: key ${key} was removed, although ${origin.name} is missing, and an edit renamed its key`,
    );
  }
}

/** Reports whether there has been no entry of this name for this time in ms. */
function isCertainlyMissing(
  { vaults, clock }: World,
  kind: string,
  { source }: Item,
  { url, email, scope }: ConnectionSpec,
  forMs: number,
): boolean {
  const vault = vaultAt(url);
  const isListed = readsFiles(kind)
    ? vaults.files(vault, email).some(({ filename }) => filename === source)
    : vaults.list(vault, email).some(({ key_name }) => key_name === source);
  const unchangedMs = clock.monotonic() - vaults.changedAt(vault, source);
  return scope === undefined && !isListed && unchangedMs > forMs;
}

/** Reports whether an optional key would have the version before the first one: there is none. */
const hasNoPrevious = ({ versions }: TargetWrite, { items }: Output): boolean =>
  items.some(({ leader, absence }) => absence !== "never" && versions[leader?.id ?? ""] === 1);

const isExtracted = ({ id }: Item): boolean => id.startsWith("dataFrom[");

/** Reports whether the rules of two keys request the same metadata. */
const isSameRule = (one: Output, other: Output): boolean =>
  one.absence === other.absence &&
  JSON.stringify(one.items.map(({ metadata }) => metadata)) ===
    JSON.stringify(other.items.map(({ metadata }) => metadata));

const hasSource = ({ items }: Output, sources: readonly string[]): boolean =>
  items.some(({ source }) => sources.includes(source));

/** Reports whether the version of an object that a target has now has this member. */
function isMember(
  { world: { vaults }, is, versions }: TargetWrite,
  { items: [item] }: Output,
): boolean {
  const version = versions[item?.id ?? ""] ?? -1;
  const now = Object.values(is)
    .flatMap((base64) => vaults.originsIn(base64))
    .find(
      ({ name, owner, versions: numbers }) =>
        name === item?.source && (item.owner ?? owner) === owner && numbers.has(version),
    );
  return now?.parts.has(item?.member ?? "") ?? true;
}

/** Reports whether the scope of a connection may hide an entry that a resource names. */
export const hidesNames = ({ scope = {} }: ConnectionSpec): boolean =>
  Object.keys(scope).some((field) => field !== "onlyReferenced");

/**
 * Reports whether the vault has removed an entry at its deadline or, as far as the policy counts
 * it, at all.
 */
function isGone(
  world: World,
  kind: string,
  item: Item,
  spec: Spec,
  connection: ConnectionSpec,
  had: readonly Origin[],
): boolean {
  const { vaults, clock } = world;
  const vault = vaultAt(connection.url);
  const isOptional = item.absence === "optional";
  const { whenRemoved = "Delete", whenMissing = "Retain" } = spec.target ?? {};
  const isExpired = vaults
    .deadlinesOf(vault, item.source)
    .some((deadline) => deadline <= clock.now() + world.greatestSkewMs + CLOCK_SKEW_MS);
  if (isExpired && (whenRemoved === "Delete" || isOptional)) return true;
  if (whenMissing !== "Delete" && !isOptional) return false;
  return isMissing(world, kind, item, connection, had);
}

/**
 * Reports whether the list of a connection lacks the source of an item, or may have lacked it. What
 * a stranger shares is not the source, unless the target has its bytes.
 */
function isMissing(
  world: World,
  kind: string,
  item: Item,
  connection: ConnectionSpec,
  had: readonly Origin[],
): boolean {
  if (hidesNames(connection)) return true;
  const { url, email } = connection;
  const { vaults, clock } = world;
  const { owner: from, metadata = {} } = item;
  const vault = vaultAt(url);
  const isListed = readsFiles(kind)
    ? vaults.files(vault, email).some(({ filename }) => filename === item.source)
    : vaults
        .list(vault, email)
        .some(
          (entry) =>
            entry.key_name === item.source &&
            (from ?? entry.owner) === entry.owner &&
            (isTrustedOwner(connection, item, entry.owner) || had.some(isOf(vault, entry))) &&
            hasMetadata(entry, metadata),
        );
  // Until then it may have been missing, and the last list does not show that it is back.
  const listedAgoMs = Math.max(UNSEEN_MS, 1.2 * intervalOf(connection));
  return !isListed || clock.monotonic() - vaults.changedAt(vault, item.source) < listedAgoMs;
}

const isOf =
  (vault: string, entry: { readonly key_name: string; readonly owner: string }) =>
  (origin: Origin): boolean =>
    origin.vault === vault && origin.name === entry.key_name && origin.owner === entry.owner;

/** Reports whether a connection uses the secrets of an owner for an item. */
export function isTrustedOwner(
  { email, trustedOwners = [], receive }: ConnectionSpec,
  item: Item,
  owner: string,
): boolean {
  const isAnyone = receive === "Anyone" && item.absence !== "found";
  return isAnyone || [email, item.owner, ...trustedOwners].includes(owner);
}

const intervalOf = ({ refreshInterval = "60s" }: ConnectionSpec): number =>
  1_000 * Number.parseInt(refreshInterval, 10);

/** Reports whether an entry has all of these values in its metadata. */
export const hasMetadata = (
  { metadata }: { readonly metadata: Readonly<Record<string, unknown>> },
  values: Readonly<Record<string, string>>,
): boolean => Object.entries(values).every(([attribute, value]) => metadata[attribute] === value);

/** Reports whether any version with the bytes of an origin was listed with this metadata. */
export const wasListedWith = (
  { metadata }: Pick<Origin, "metadata">,
  values: Readonly<Record<string, string>>,
): boolean => metadata.some((listed) => hasMetadata({ metadata: listed }, values));
