import type { FormatFlags } from "../../../command-line/options.ts";
import { formatTable, formatObject } from "../../../command-line/format.ts";
import { systemClock } from "../../../lib/clock.ts";
import { findCondition } from "../../api/conditions.ts";
import { vaultFileKind, vaultSecretKind } from "../../api/kinds.ts";
import { APPROVE_ANNOTATION } from "../../api/names.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { type Cluster, listAll, withClusterUntilStopped } from "../cluster.ts";
import { type ClusterFlags, NOT_READY } from "../options.ts";
import { followingItems, parsedResource, readResource, statusOf } from "../read-resource.ts";
import { idOf, type ResourceName } from "../resource-name.ts";
import { stateOf } from "../status/resource-state.ts";
import { isReady, problemLines } from "../status/status-tables.ts";
import { syncOne } from "../sync.ts";
import { messageOf } from "../../../lib/errors.ts";

/** Flags of `vaultsync approve`. */
export interface ApproveFlags extends ClusterFlags, FormatFlags {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly timeout: number;
}

/** A version that a user approves; without `from`, the target does not have the key yet. */
interface Update {
  readonly key: string;
  readonly source: string;
  readonly from?: number | undefined;
  readonly to: number;
}

/** The newest versions that a resource waits for. */
interface Awaiting {
  readonly name: ResourceName;
  readonly digest: string;
  readonly updates: readonly Update[];
  /** Number of keys that the status does not show: newer versions of them are approved too. */
  readonly keysOmitted: number;
}

/** Returns what a resource waits for; `undefined` if it waits for no approval. */
export function awaitingOf(name: ResourceName, object: KubeObject): Awaiting | undefined {
  const { approvalDigest: digest, itemsOmitted: keysOmitted = 0 } = statusOf(object);
  if (digest === undefined) return undefined;
  const items = followingItems(object, parsedResource(object));
  const updates = items.flatMap(({ key, source, version: from, latest: to }) =>
    to !== undefined && to > (from ?? 0) ? [{ key, source, from, to }] : [],
  );
  return { name, digest, updates, keysOmitted };
}

async function find(
  cluster: Cluster,
  names: readonly ResourceName[],
  { all = false }: ApproveFlags,
  signal: AbortSignal,
): Promise<Awaiting[]> {
  if (all === names.length > 0) throw new Error("name the resources to approve, or set --all");
  if (all) {
    const kinds = [vaultSecretKind, vaultFileKind];
    const found = await Promise.all(
      kinds.map(async (kind) =>
        (await listAll(cluster, kind, signal)).flatMap(
          (object) => awaitingOf({ kind, name: object.metadata.name }, object) ?? [],
        ),
      ),
    );
    return found.flat();
  }
  const found = await Promise.all(
    names.map(async (name) => {
      const awaiting = awaitingOf(name, await readResource(cluster, name, signal));
      if (awaiting === undefined) process.stderr.write(`${idOf(name)} waits for no approval\n`);
      return awaiting ?? [];
    }),
  );
  return found.flat();
}

function print(awaiting: readonly Awaiting[], { output }: FormatFlags): void {
  for (const { name, keysOmitted } of awaiting.filter((one) => one.keysOmitted > 0))
    process.stderr.write(
      `${idOf(name)} has ${keysOmitted} more keys that its status does not show: newer versions of them are approved too\n`,
    );
  if (output !== "table") {
    const approved = awaiting.map(({ name, ...one }) => ({ resource: idOf(name), ...one }));
    process.stdout.write(formatObject({ approved }, output));
    return;
  }
  const rows = awaiting.flatMap(({ name, updates }) =>
    updates.map(({ key, source, from, to }) => [
      idOf(name),
      key,
      source,
      `${from ?? "-"}`,
      `${to}`,
    ]),
  );
  if (rows.length > 0)
    process.stdout.write(formatTable(["RESOURCE", "KEY", "ENTRY", "FROM", "TO"], rows));
}

/** Reasons for which versions wait that are approved. */
const GATES: readonly string[] = ["Held", "Frozen", "OutsideWindow"];

/**
 * Approves the versions of one resource, and prints what keeps them from its target.
 * @throws Error when no operator responds
 */
async function approveOne(
  cluster: Cluster,
  { name, digest }: Awaiting,
  { timeout }: ApproveFlags,
  signal: AbortSignal,
): Promise<void> {
  const synced = await syncOne(cluster, name, timeout, signal, { [APPROVE_ANNOTATION]: digest });
  const { approvalDigest, conditions } = statusOf(synced);
  const state = stateOf(synced);
  const waiting = findCondition(conditions, "UpdateAvailable");
  if (approvalDigest !== undefined)
    process.stderr.write(`${idOf(name)} has newer versions now: approve them too\n`);
  else if (waiting !== undefined && GATES.includes(waiting.reason))
    process.stderr.write(`${idOf(name)}: ${waiting.reason}: ${waiting.message}\n`);
  const options = { now: systemClock.now(), allNamespaces: false, items: false };
  process.stderr.write(problemLines([state], options));
  if (approvalDigest !== undefined || !isReady(state)) process.exitCode = NOT_READY;
}

async function approveAll(
  cluster: Cluster,
  names: readonly ResourceName[],
  flags: ApproveFlags,
  signal: AbortSignal,
): Promise<void> {
  const awaiting = await find(cluster, names, flags, signal);
  print(awaiting, flags);
  if (flags.dryRun === true) return;
  const failures: string[] = [];
  for (const one of awaiting) {
    try {
      await approveOne(cluster, one, flags, signal);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(messageOf(error));
    }
  }
  if (failures.length > 0) throw new Error(failures.join("\n"));
}

/** Approves the newest versions that resources wait for. Changes annotations of the resources. */
export const approve = (names: readonly ResourceName[], flags: ApproveFlags): Promise<void> =>
  withClusterUntilStopped(flags, (cluster, signal) => approveAll(cluster, names, flags, signal));
