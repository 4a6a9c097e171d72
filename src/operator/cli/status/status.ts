import { systemClock } from "../../../lib/clock.ts";
import {
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../api/kinds.ts";
import { ALL_NAMESPACES, type KubeObject } from "../../kube/resource.ts";
import {
  checkNamespace,
  type Cluster,
  listAll,
  listClusterConnections,
  withClusterUntilStopped,
} from "../cluster.ts";
import type { FormatFlags } from "../../../command-line/options.ts";
import { listFannedOutInto } from "../list-fanned-out.ts";
import { type ClusterFlags, NOT_READY } from "../options.ts";
import type { ResourceName } from "../resource-name.ts";
import { isFannedOut } from "../synced-kind.ts";
import {
  type ConnectionState,
  connectionState,
  type FanOutState,
  fanOutState,
  type ResourceState,
  resourceState,
} from "./resource-state.ts";
import {
  connectionTable,
  fanOutTable,
  isReady,
  problemLines,
  resourceTable,
} from "./status-tables.ts";
import { formatObject } from "../../../command-line/format.ts";

/** Flags of `vaultsync status`. */
export interface StatusFlags extends ClusterFlags, FormatFlags {
  readonly items?: boolean;
  readonly watch?: boolean;
  readonly selector?: string;
}

/** Time between two reads with --watch, in milliseconds. */
const WATCH_MS = 2_000;

/** Everything that the command shows, sorted by namespace and name. */
interface Status {
  readonly connections: readonly ConnectionState[];
  /** ClusterVaultSecrets and ClusterVaultFiles. */
  readonly clusterResources: readonly FanOutState[];
  readonly resources: readonly ResourceState[];
}

const statesOf = ({ connections, clusterResources, resources }: Status) => [
  ...connections,
  ...clusterResources,
  ...resources,
];

/** The objects that the command shows: all by default. */
interface Selection {
  readonly names: readonly ResourceName[];
  readonly selector: string | undefined;
}

/** @throws Error for a name that does not exist */
function named(states: ReturnType<typeof statesOf>, names: readonly ResourceName[]): Set<unknown> {
  return new Set(
    names.flatMap(({ kind, name }) => {
      const found = states.filter((one) => one.kind === kind.singular && one.name === name);
      if (found.length === 0) throw new Error(`no ${kind.singular}/${name}`);
      return found;
    }),
  );
}

/**
 * Lists the cluster-scoped resources that a selection shows: by their names whatever they select,
 * by labels or without a choice those that concern the namespace.
 */
async function listClusterResources(
  { api, namespace }: Cluster,
  { names, selector }: Selection,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const isNamed = names.length > 0;
  if (isNamed && !names.some(isFannedOut)) return [];
  const scope = isNamed ? ALL_NAMESPACES : namespace;
  return listFannedOutInto({ api, namespace: scope }, signal, selector);
}

async function readStatus(
  cluster: Cluster,
  selection: Selection,
  signal: AbortSignal,
): Promise<Status> {
  const { names, selector } = selection;
  const kinds = [vaultConnectionKind, vaultSecretKind, vaultFileKind, vaultPushKind];
  const [connections = [], ...rest] = await Promise.all(
    kinds.map((kind) => listAll(cluster, kind, signal, selector)),
  );
  const objects = rest.flat();
  const clusterObjects = await listClusterResources(cluster, selection, signal);
  if (selector === undefined && names.length === 0) {
    const users = [...objects, ...clusterObjects];
    connections.push(...(await listClusterConnections(cluster, users, signal)));
  }
  const all = {
    connections: connections.map(connectionState),
    clusterResources: clusterObjects.map(fanOutState),
    resources: objects.map(resourceState),
  };
  if (names.length === 0) return all;
  const shown = named(statesOf(all), names);
  return {
    connections: all.connections.filter((one) => shown.has(one)),
    clusterResources: all.clusterResources.filter((one) => shown.has(one)),
    resources: all.resources.filter((one) => shown.has(one)),
  };
}

/** Returns what to print for a status. */
function format(
  status: Status,
  { output, items = false, allNamespaces = false }: StatusFlags,
): string {
  if (output !== "table") return formatObject(status, output);
  const { connections, clusterResources, resources } = status;
  const options = { now: systemClock.now(), allNamespaces, items };
  const sections = [
    connections.length === 0 ? "" : connectionTable(connections, options),
    clusterResources.length === 0 ? "" : fanOutTable(clusterResources, options),
    resources.length === 0 ? "" : resourceTable(resources, options),
    problemLines(statesOf(status), options),
  ];
  return sections.filter((section) => section !== "").join("\n");
}

/** Clears the terminal before the next status. */
const clear = (): void => void (process.stdout.isTTY && process.stdout.write("\u001B[H\u001B[2J"));

async function showStatus(
  cluster: Cluster,
  names: readonly ResourceName[],
  flags: StatusFlags,
  signal: AbortSignal,
): Promise<void> {
  let last: string | undefined;
  for (;;) {
    const read = await readStatus(cluster, { names, selector: flags.selector }, signal);
    const states = statesOf(read);
    if (states.length === 0) await checkNamespace(cluster, signal);
    const text = format(read, flags);
    // A terminal also shows that ages grow.
    const shown = process.stdout.isTTY ? text : JSON.stringify(read);
    if (shown !== last) {
      if (flags.watch === true) clear();
      // As kubectl: documents of YAML have to be separated, texts of JSON need not.
      const separator = last !== undefined && flags.output === "yaml" ? "---\n" : "";
      process.stdout.write(separator + text);
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
export const status = (names: readonly ResourceName[], flags: StatusFlags): Promise<void> =>
  withClusterUntilStopped(
    flags,
    (cluster, signal) => showStatus(cluster, names, flags, signal),
    flags.watch,
  );
