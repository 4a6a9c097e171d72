import { systemClock } from "../../lib/clock.ts";
import type { AccountFlags, FormatFlags } from "../../command-line/options.ts";
import { formatTable, formatObject } from "../../command-line/format.ts";
import { HOLD_ANNOTATION } from "../api/names.ts";
import { keyOf } from "../sync/stored-status.ts";
import type { SyncResource } from "../sync/sync-resource.ts";
import { type Cluster, withClusterUntilStopped } from "./cluster.ts";
import { type ClusterFlags, NOT_READY } from "./options.ts";
import { followingItems, parsedResource, readResource, statusOf } from "./read-resource.ts";
import { idOf, type ResourceName } from "./resource-name.ts";
import { isFannedOut } from "./synced-kind.ts";
import {
  type FanOutState,
  type ItemState,
  type ResourceState,
  resourceState,
  stateOf,
} from "./status/resource-state.ts";
import { isReady } from "./status/status-tables.ts";
import { NotSyncedError, printStates, syncOne } from "./sync.ts";
import { namedBy } from "./updates/connected-entries.ts";
import { entryVersions, type EntryVersion, versionAt } from "./updates/entry-versions.ts";
import { entriesOf, isOf } from "./updates/history.ts";
import type { KubeObject } from "../kube/resource.ts";
import { firstOf } from "../lib/first-of.ts";
import { findCondition } from "../api/conditions.ts";

/** Time between two reads of a resource whose pods are replaced, in milliseconds. */
const POLL_MS = 1_000;
/** Time in milliseconds after a change within which the condition appears, if pods use the target. */
const APPEARS_MS = 20_000;

/**
 * Waits until every pod that uses the target of a resource runs its content. Without the condition
 * no pod uses it, or the operator does not see workloads.
 * @throws Error that names the workloads
 */
async function untilConverged(
  cluster: Cluster,
  name: ResourceName,
  timeout: number,
  signal: AbortSignal,
): Promise<void> {
  const started = systemClock.monotonic();
  for (;;) {
    const object = await readResource(cluster, name, signal);
    const converged = findCondition(statusOf(object).conditions, "Converged");
    const waitedMs = systemClock.monotonic() - started;
    if (converged?.status === "True") return;
    if (converged === undefined && waitedMs > APPEARS_MS) {
      process.stderr.write(`${idOf(name)} has no condition Converged\n`);
      return;
    }
    if (waitedMs > timeout * 1_000)
      throw new NotSyncedError(
        `${idOf(name)} was not Converged within ${timeout} s: ${converged?.message ?? "it has no condition"}`,
      );
    await systemClock.sleep(POLL_MS, signal);
  }
}

/** Flags of `vaultsync rollback`. */
export interface RollbackFlags extends ClusterFlags, AccountFlags, FormatFlags {
  readonly to?: number;
  /** In milliseconds since the epoch. */
  readonly at?: number;
  readonly key?: string;
  readonly reason?: string;
  readonly wait?: boolean;
  readonly dryRun?: boolean;
  readonly timeout: number;
}

/** Flags of `vaultsync resume`. */
export interface ResumeFlags extends ClusterFlags, FormatFlags {
  readonly timeout: number;
}

/** A key whose version changes. */
interface Change {
  readonly key: string;
  readonly source: string;
  readonly from: number;
  readonly to: number;
}

/** Returns a text that is equal for items of one entry: several owners may have one of a name. */
const entryIdOf = ({ source, owner = "" }: ItemState): string => JSON.stringify([source, owner]);

/**
 * Returns the keys of one entry of the vault, and the version to which they go: versions of several
 * entries have nothing in common.
 * @throws Error that says what to name, or why there is no such version
 */
export function rollbackChanges(
  items: readonly ItemState[],
  { key, to }: Pick<RollbackFlags, "key" | "to">,
): Change[] {
  const named = key === undefined ? items : items.filter((item) => item.key === key);
  const entries = new Set(named.map(entryIdOf));
  const choice = items.map((item) => `${item.key} (${item.source} ${item.version ?? "-"})`);
  if (entries.size === 0)
    throw new Error(
      choice.length === 0
        ? "no key follows the latest version of an entry: change the version in the spec"
        : `no key ${key} follows the latest version of an entry: name one of ${choice.join(", ")}`,
    );
  if (entries.size > 1)
    throw new Error(`name the key to roll back with --key: ${choice.join(", ")}`);
  return items
    .filter((item) => entries.has(entryIdOf(item)))
    .map(({ key: of, source, version }) => {
      const next = to ?? (version ?? 0) - 1;
      if (version === undefined)
        throw new Error(`the target has no version of ${source}: there is nothing to roll back`);
      if (next < 1) throw new Error(`version ${version} of ${source} is the first one`);
      return { key: of, source, from: version, to: next };
    });
}

/**
 * Returns the keys, or the named one, that had another version of their entry at a time.
 * @param versionsOf returns the versions of the entry of a key that the vault has
 * @throws Error that says which entry had none, or that nothing changes
 */
export function changesAt(
  items: readonly ItemState[],
  { key, at }: { readonly key?: string | undefined; readonly at: number },
  versionsOf: (item: ItemState) => readonly EntryVersion[],
): Change[] {
  const time = new Date(at).toISOString();
  const named = key === undefined ? items : items.filter((item) => item.key === key);
  if (named.length === 0)
    throw new Error(`no key${key === undefined ? "" : ` ${key}`} follows the latest version`);
  const changes = named.flatMap((item): Change[] => {
    const { key: of, source, version: from } = item;
    const to = versionAt(versionsOf(item), at)?.version;
    if (to === undefined) throw new Error(`the vault has no version of ${source} from ${time}`);
    if (from === undefined)
      throw new Error(`the target has no version of ${source}: there is nothing to roll back`);
    return to === from ? [] : [{ key: of, source, from, to }];
  });
  if (changes.length === 0) throw new Error(`the target has the versions of ${time} already`);
  return changes;
}

/**
 * Returns the keys of a spec that have to go back too, and do not, because a long status does not
 * show their versions: keys of the same entry or, for a time, all keys.
 */
export function hiddenKeys(
  { items }: Pick<SyncResource, "items">,
  { items: shown, itemsOmitted }: Pick<ResourceState, "items" | "itemsOmitted">,
  changes: readonly Change[],
  { at, key }: Pick<RollbackFlags, "at" | "key">,
): string[] {
  if (itemsOmitted === 0) return [];
  const known = new Set(shown.map((item) => item.key));
  const sources = new Set(changes.map(({ source }) => source));
  const isMeant = (source: string): boolean =>
    at === undefined ? sources.has(source) : key === undefined;
  return items
    .filter(({ id, source, version }) => version === "latest" && isMeant(source) && !known.has(id))
    .map(({ id }) => id);
}

/**
 * Returns the keys that a status shows in another version than the one to go back to. A long status
 * of a target in sync may omit keys: the hold has their versions.
 */
export function missedKeys(
  changes: readonly Change[],
  { items, itemsOmitted }: Pick<ResourceState, "items" | "itemsOmitted">,
): string[] {
  const shown = new Map(items.map(({ key, version }) => [key, version]));
  return changes
    .filter(({ key, to }) => (shown.has(key) || itemsOmitted === 0) && shown.get(key) !== to)
    .map(({ key }) => key);
}

/** Returns the keys whose versions change, as the flags say. Asks the vault for a time. */
async function changesFor(
  cluster: Cluster,
  object: KubeObject,
  flags: RollbackFlags,
  signal: AbortSignal,
): Promise<Change[]> {
  const items = followingItems(object, parsedResource(object));
  const { at, key } = flags;
  if (at === undefined) return rollbackChanges(items, flags);
  const { VaultClient } = await import("../../protocol/client/vault-client.ts");
  const client = await VaultClient.open(flags.account);
  const named = await namedBy(client, cluster, object, signal);
  const status = statusOf(object);
  const versions = new Map<string, readonly EntryVersion[]>();
  for (const entry of entriesOf(status)) {
    const listed = await entryVersions(client, named(entry));
    for (const item of status.items ?? []) if (isOf(entry, item)) versions.set(keyOf(item), listed);
  }
  return changesAt(items, { key, at }, (item) => versions.get(item.key) ?? []);
}

/** Returns the annotation that holds these versions in addition to what is held already. */
function holdOf(resource: SyncResource, changes: readonly Change[], reason = ""): string {
  const versions = {
    ...Object.fromEntries(resource.hold?.versions ?? []),
    ...Object.fromEntries(changes.map(({ key, to }) => [key, to])),
  };
  const at = new Date(systemClock.now()).toISOString();
  return JSON.stringify({ versions, ...(reason !== "" && { reason }), at });
}

function printChanges(changes: readonly Change[]): void {
  const header = ["KEY", "ENTRY", "FROM", "TO"];
  const rows = changes.map(({ key, source, from, to }) => [key, source, `${from}`, `${to}`]);
  process.stdout.write(`${formatTable(header, rows)}\n`);
}

/** Prints the state of the resource, in a format with `facts`, and sets the exit code. */
function showState(
  state: ResourceState | FanOutState,
  output: FormatFlags["output"],
  facts: object = {},
  problem = "",
): void {
  if (output === "table") return printStates([state], problem);
  process.stdout.write(formatObject({ ...facts, resource: state }, output));
  if (!isReady(state) || problem !== "") process.exitCode = NOT_READY;
  process.stderr.write(problem);
}

async function rollBack(
  cluster: Cluster,
  name: ResourceName,
  flags: RollbackFlags,
  signal: AbortSignal,
): Promise<void> {
  const object = await readResource(cluster, name, signal);
  const resource = parsedResource(object);
  const changes = await changesFor(cluster, object, flags, signal);
  if (flags.output === "table") printChanges(changes);
  if (flags.dryRun === true) {
    if (flags.output !== "table") process.stdout.write(formatObject({ changes }, flags.output));
    return;
  }
  const hold = { [HOLD_ANNOTATION]: holdOf(resource, changes, flags.reason) };
  const ending = `vaultsync resume ${idOf(name)} ends it`;
  const stays = (error: unknown): never => {
    const why = error instanceof NotSyncedError ? error.message : undefined;
    throw why === undefined ? error : new Error(`${why}; the hold stays: ${ending}`);
  };
  const synced = await syncOne(cluster, name, flags.timeout, signal, hold).catch(stays);
  const state = stateOf(synced);
  if (flags.wait === true) await untilConverged(cluster, name, flags.timeout, signal).catch(stays);
  const missed = missedKeys(changes, state);
  const hidden = hiddenKeys(resource, resourceState(object), changes, flags);
  const problems = [
    ...(missed.length === 0 ? [] : [`${missed.join(", ")}: not in the version to go back to`]),
    ...(hidden.length === 0
      ? []
      : [`${firstOf(hidden)}: not in the status, and held in the version of the target`]),
  ];
  const problem =
    problems.length === 0 ? "" : `${problems.join("\n")}. The hold stays: ${ending}.\n`;
  showState(state, flags.output, { changes }, problem);
  process.stderr.write(
    `${idOf(name)} is held: it follows the vault again after vaultsync resume ${idOf(name)}\n`,
  );
}

async function endHold(
  cluster: Cluster,
  name: ResourceName,
  flags: ResumeFlags,
  signal: AbortSignal,
): Promise<void> {
  const object = await readResource(cluster, name, signal);
  if (object.metadata.annotations?.[HOLD_ANNOTATION] === undefined)
    process.stderr.write(`${idOf(name)} is not held\n`);
  const changes = { [HOLD_ANNOTATION]: null };
  const synced = await syncOne(cluster, name, flags.timeout, signal, changes);
  showState(stateOf(synced), flags.output);
}

/**
 * Takes the target of a resource back to an earlier version of an entry, and holds it there until
 * `resume`. Changes annotations of the resource.
 * @throws Error with `wait`, for a resource that never has the condition Converged
 */
export async function rollback(name: ResourceName, flags: RollbackFlags): Promise<void> {
  if (flags.wait === true && isFannedOut(name))
    throw new Error(
      `${idOf(name)} has no condition Converged, because its targets are in several namespaces: omit --wait`,
    );
  await withClusterUntilStopped(flags, (cluster, signal) => rollBack(cluster, name, flags, signal));
}

/** Ends a hold: the resource follows the vault again. */
export const resume = (name: ResourceName, flags: ResumeFlags): Promise<void> =>
  withClusterUntilStopped(flags, (cluster, signal) => endHold(cluster, name, flags, signal));
