import type { AccountFlags, FormatFlags } from "../../../command-line/options.ts";
import { formatTable, formatObject } from "../../../command-line/format.ts";
import { findCondition } from "../../api/conditions.ts";
import { type ItemStatus, keyOf, type SyncStatus } from "../../sync/stored-status.ts";
import { formatTimestamp } from "../../sync/timestamp.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { type Cluster, withClusterUntilStopped } from "../cluster.ts";
import type { ClusterFlags } from "../options.ts";
import { readResource, statusOf } from "../read-resource.ts";
import { idOf, type ResourceName } from "../resource-name.ts";
import { namedBy } from "./connected-entries.ts";
import { type Entry, entryVersions, type EntryVersion } from "./entry-versions.ts";
import { messageOf } from "../../../lib/errors.ts";

/** Flags of `vaultsync history`. */
export type HistoryFlags = ClusterFlags & AccountFlags & FormatFlags;

/** A version of an entry, and what the target has of it. */
interface VersionRow {
  readonly entry: string;
  readonly version: number;
  /** RFC 3339. */
  readonly createdAt?: string | undefined;
  readonly createdBy?: string | undefined;
  /** The keys of the target that have it. */
  readonly keys: readonly string[];
  /** Why the target does not follow it, if it is the latest version. */
  readonly waitsFor?: string | undefined;
}

const entryOf = (item: ItemStatus): Entry =>
  "filename" in item
    ? { kind: "file", name: item.filename }
    : { kind: "secret", name: item.key, owner: item.owner };

/** Reports whether an item of a status is of an entry. */
export const isOf = ({ name, owner }: Entry, item: ItemStatus): boolean => {
  const other = entryOf(item);
  return other.name === name && other.owner === owner;
};

/** Returns the entries that a status shows, each once. */
export function entriesOf({ items = [] }: SyncStatus): Entry[] {
  return items.map(entryOf).filter(({ name, owner }, at, all) => {
    return all.findIndex((other) => other.name === name && other.owner === owner) === at;
  });
}

/**
 * Returns the versions of an entry, the newest first: those that the vault lists or, if it was not
 * asked, those that the status shows.
 */
export function versionRows(
  entry: Entry,
  { items = [], conditions }: SyncStatus,
  listed: readonly EntryVersion[] | undefined,
): VersionRow[] {
  const own = items.filter((item) => isOf(entry, item) && item.otherVault !== true);
  const latest = Math.max(0, ...own.map((item) => item.latest ?? 0));
  const shown = own
    .flatMap(({ version, latest: newest }) => [version, newest])
    .filter((version) => version !== undefined);
  const versions: readonly EntryVersion[] =
    listed ?? [...new Set(shown)].map((version) => ({ version, createdAt: undefined }));
  const gate = findCondition(conditions, "UpdateAvailable")?.reason;
  return versions
    .toSorted((one, other) => other.version - one.version)
    .map(({ version, createdAt, createdBy }) => {
      const keys = own.filter((item) => item.version === version).map(keyOf);
      const isWaiting = version === latest && own.some((item) => (item.version ?? 0) < latest);
      return {
        entry: entry.name,
        version,
        createdAt: formatTimestamp(createdAt),
        createdBy,
        keys,
        waitsFor: isWaiting && keys.length === 0 ? gate : undefined,
      };
    });
}

const stateOf = ({ keys, waitsFor }: VersionRow): string =>
  keys.length > 0 ? `in the target: ${keys.join(", ")}` : (waitsFor ?? "-");

function print(rows: readonly VersionRow[], { syncedAt, restarts = [] }: SyncStatus): void {
  const cells = rows.map((row) => [
    row.entry,
    `${row.version}`,
    row.createdAt ?? "-",
    row.createdBy ?? "-",
    stateOf(row),
  ]);
  process.stdout.write(formatTable(["ENTRY", "VERSION", "CREATED", "BY", "STATE"], cells));
  if (syncedAt !== undefined) process.stdout.write(`\nlast change of the target: ${syncedAt}\n`);
  if (restarts.length === 0) return;
  const restarted = restarts.map(({ kind, name, result, time, message }) => [
    `${kind.toLowerCase()}/${name}`,
    result,
    time ?? "-",
    message ?? "-",
  ]);
  process.stdout.write(`\n${formatTable(["WORKLOAD", "RESTART", "TIME", "MESSAGE"], restarted)}`);
}

function note(error: unknown): undefined {
  const why = messageOf(error);
  process.stderr.write(`only the versions that the cluster shows: ${why}\n`);
}

/**
 * Returns a function for the versions of an entry that the vault lists: `undefined`, with a note, if
 * the login cannot ask.
 */
async function listedVersions(
  cluster: Cluster,
  object: KubeObject,
  account: string,
  signal: AbortSignal,
): Promise<(entry: Entry) => Promise<readonly EntryVersion[] | undefined>> {
  const { VaultClient } = await import("../../../protocol/client/vault-client.ts");
  const client = await VaultClient.open(account).catch(note);
  const named = client && (await namedBy(client, cluster, object, signal).catch(note));
  return async (entry) => {
    if (client === undefined || named === undefined) return undefined;
    try {
      return await entryVersions(client, named(entry));
    } catch (error) {
      return note(error);
    }
  };
}

/**
 * Prints the versions of the entries that a resource refers to, what its target has of them, and
 * the last restarts. Reads no value.
 */
export const history = (name: ResourceName, flags: HistoryFlags): Promise<void> =>
  withClusterUntilStopped(flags, async (cluster, signal) => {
    const object = await readResource(cluster, name, signal);
    const status = statusOf(object);
    const versionsOf = await listedVersions(cluster, object, flags.account, signal);
    const listed = entriesOf(status).map(async (entry) =>
      versionRows(entry, status, await versionsOf(entry)),
    );
    const rows = (await Promise.all(listed)).flat();
    if (status.itemsOmitted !== undefined)
      process.stderr.write(
        `${idOf(name)} has ${status.itemsOmitted} more keys that its status does not show: their entries may be missing here\n`,
      );
    if (flags.output === "table") return print(rows, status);
    const { syncedAt, restarts = [] } = status;
    process.stdout.write(formatObject({ versions: rows, syncedAt, restarts }, flags.output));
  });
