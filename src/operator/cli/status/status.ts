import { systemClock } from "../../../lib/clock.ts";
import {
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../api/kinds.ts";
import { ALL_NAMESPACES } from "../../kube/resource.ts";
import { type Cluster, listAll, listClusterConnections, withCluster } from "../cluster.ts";
import { formatObject } from "../../../command-line/format-object.ts";
import type { FormatFlags } from "../../../command-line/options.ts";
import { stopSignal } from "../../../command-line/stop-signal.ts";
import { type ClusterFlags, NOT_READY } from "../options.ts";
import {
  type ConnectionState,
  connectionState,
  type ResourceState,
  resourceState,
} from "./resource-state.ts";
import { connectionTable, isReady, problemLines, resourceTable } from "./status-tables.ts";

/** Flags of `vaultsync status`. */
export interface StatusFlags extends ClusterFlags, FormatFlags {
  readonly items?: boolean;
  readonly watch?: boolean;
}

/** Time between two reads with --watch, in milliseconds. */
const WATCH_MS = 2_000;

/** Everything that the command shows, sorted by namespace and name. */
interface Status {
  readonly connections: readonly ConnectionState[];
  readonly resources: readonly ResourceState[];
}

async function readStatus(cluster: Cluster, signal: AbortSignal): Promise<Status> {
  const kinds = [vaultConnectionKind, vaultSecretKind, vaultFileKind, vaultPushKind];
  const [connections = [], ...rest] = await Promise.all(
    kinds.map((kind) => listAll(cluster, kind, signal)),
  );
  const resources = rest.flat();
  connections.push(...(await listClusterConnections(cluster, resources, signal)));
  return { connections: connections.map(connectionState), resources: resources.map(resourceState) };
}

/** Returns what to print for a status. */
function format(
  { connections, resources }: Status,
  { output, items = false, allNamespaces = false }: StatusFlags,
): string {
  if (output !== "table") return formatObject({ connections, resources }, output);
  const options = { now: systemClock.now(), allNamespaces, items };
  const sections = [
    connections.length === 0 ? "" : connectionTable(connections, options),
    resources.length === 0 ? "" : resourceTable(resources, options),
    problemLines([...connections, ...resources], options),
  ];
  return sections.filter((section) => section !== "").join("\n");
}

/** Clears the terminal before the next status. */
const clear = (): void => void (process.stdout.isTTY && process.stdout.write("\u001B[H\u001B[2J"));

async function showStatus(
  cluster: Cluster,
  flags: StatusFlags,
  signal: AbortSignal,
): Promise<void> {
  let last: string | undefined;
  for (;;) {
    const read = await readStatus(cluster, signal);
    const states = [...read.connections, ...read.resources];
    const text = format(read, flags);
    // A terminal also shows that ages grow.
    const shown = process.stdout.isTTY ? text : JSON.stringify(read);
    if (shown !== last) {
      if (flags.watch === true) clear();
      process.stdout.write(text);
      if (states.length === 0)
        process.stderr.write(
          `no connection, VaultSecret, VaultFile or VaultPush in ${where(cluster)}\n`,
        );
    }
    last = shown;
    process.exitCode = states.every(isReady) ? 0 : NOT_READY;
    if (flags.watch !== true) return;
    await systemClock.sleep(WATCH_MS, signal);
  }
}

const where = ({ namespace }: Cluster): string =>
  namespace === ALL_NAMESPACES ? "any namespace" : `namespace ${namespace}`;

/** Prints the state of resources and their connections. Changes nothing. */
export async function status(flags: StatusFlags): Promise<void> {
  const signal = stopSignal();
  await withCluster(flags, (cluster) => showStatus(cluster, flags, signal)).catch(
    (error: unknown) => {
      if (!signal.aborted) throw error;
    },
  );
}
