import { systemClock } from "../../lib/clock.ts";
import { systemRandom } from "../../lib/random.ts";
import {
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../api/kinds.ts";
import type { Check } from "../doctor/check.ts";
import { checkCluster, checkPermissions } from "../doctor/check-cluster.ts";
import { checkConnection } from "../doctor/check-connection.ts";
import type { OperatorFlags } from "../doctor/permissions.ts";
import { checkReferred, type NamedReferences, referencesOf } from "../doctor/references-of.ts";
import { entriesOf } from "../sync/sync-key.ts";
import {
  checkNamespace,
  type Cluster,
  listAll,
  listClusterConnections,
  withCluster,
} from "./cluster.ts";
import { listFannedOutInto } from "./list-fanned-out.ts";
import { selectionOf } from "../api/fan-out.ts";
import type { FormatFlags } from "../../command-line/options.ts";
import { printable } from "../../lib/printable.ts";
import { type Cell, formatTable, formatObject } from "../../command-line/format.ts";
import { stopSignal } from "../../command-line/stop-signal.ts";
import type { KubeObject } from "../kube/resource.ts";
import { type ClusterFlags, NOT_READY } from "./options.ts";
import { syncKindOf } from "./synced-kind.ts";
import { usesConnection } from "../api/connection-key.ts";

/** Flags of `vaultsync doctor`. */
export interface DoctorFlags extends ClusterFlags, FormatFlags {
  readonly operatorNamespace: string;
  readonly serviceAccount: string;
  readonly allowHttp?: boolean;
  readonly vaultHosts?: string[];
  readonly tokenAudiences?: string[];
  readonly maxListBytes: number;
  readonly targetWatch: OperatorFlags["targetWatch"];
  readonly autoRestart: OperatorFlags["autoRestart"];
}

/**
 * Reports whether a resource needs access for a namespace: not a cluster-scoped one that selects it
 * by labels, because the operator accepts that its connection does not allow every namespace.
 */
const needsAccess = ({ metadata, spec }: KubeObject, namespace: string): boolean =>
  metadata.namespace !== undefined || selectionOf(spec)?.namespaces?.includes(namespace) === true;

/** Returns the names that resources refer to through one connection. */
function referencesIn(connection: KubeObject, resources: readonly KubeObject[]): NamedReferences {
  const of = (entries: "secret" | "file"): KubeObject[] =>
    resources.filter((one) => entriesOf(syncKindOf(one)) === entries);
  return referencesOf(connection, of("secret"), of("file"));
}

async function* allChecks(
  { api, namespace }: Cluster,
  names: readonly string[],
  flags: DoctorFlags,
  signal: AbortSignal,
): AsyncGenerator<Check> {
  const { operatorNamespace, serviceAccount, allowHttp = false, vaultHosts } = flags;
  const { maxListBytes, tokenAudiences = [], targetWatch, autoRestart } = flags;
  const [clock, random] = [systemClock, systemRandom];
  const operatorFlags = { targetWatch, autoRestart };
  const place = { api, namespace, operatorNamespace, serviceAccount, flags: operatorFlags, clock };
  for await (const check of checkCluster(place, signal)) {
    yield check;
    if (check.check === "CRDs" && check.result === "failed") return;
  }
  const cluster = { api, namespace };
  const secrets = await listAll(cluster, vaultSecretKind, signal);
  const files = await listAll(cluster, vaultFileKind, signal);
  const fannedOut = await listFannedOutInto(cluster, signal);
  const resources = [...secrets, ...files, ...fannedOut];
  yield await checkPermissions(place, resources, signal);
  const own = await listAll(cluster, vaultConnectionKind, signal);
  const connections = [...own, ...(await listClusterConnections(cluster, resources, signal))];
  const unknown = names.filter(
    (name) => !connections.some(({ metadata }) => metadata.name === name),
  );
  if (unknown.length > 0)
    throw new Error(`no connection ${unknown.join(", ")} in use in namespace ${namespace}`);
  const policy = { allowHttp, allowedHosts: vaultHosts };
  for (const connection of connections) {
    if (names.length > 0 && !names.includes(connection.metadata.name)) continue;
    const { kind, metadata } = connection;
    const needing = resources.filter((one) => needsAccess(one, namespace));
    const isNeeded = needing.some(({ spec }) =>
      usesConnection(spec, { kind, name: metadata.name }),
    );
    const options = {
      api,
      references: referencesIn(connection, resources),
      required: isNeeded ? referencesIn(connection, needing) : undefined,
      namespace,
      operatorNamespace,
      policy,
      tokenAudiences,
      maxListBytes,
      clock,
      random,
    };
    yield* checkConnection(connection, options, signal);
  }
  if (names.length === 0) yield* checkMissing(cluster, resources, connections, signal);
}

/** Checks that the connections of all resources exist. @throws Error without such a namespace */
async function* checkMissing(
  cluster: Cluster,
  resources: readonly KubeObject[],
  connections: readonly KubeObject[],
  signal: AbortSignal,
): AsyncGenerator<Check> {
  const pushes = await listAll(cluster, vaultPushKind, signal);
  yield* checkReferred(cluster, [...resources, ...pushes], connections, signal);
  if (connections.length > 0) return;
  await checkNamespace(cluster, signal);
  process.stderr.write(`no connection in use in namespace ${cluster.namespace}\n`);
}

const COLORS = { ok: "green", failed: "red", skipped: "yellow" } as const;

function format(checks: readonly Check[], { output }: DoctorFlags): string {
  if (output !== "table") return formatObject({ checks }, output);
  const rows = checks.map(({ subject, check, result, message }): Cell[] => [
    subject,
    check,
    { text: result, color: COLORS[result] },
    message,
  ]);
  const remedies = checks
    .filter(({ remedy }) => remedy !== undefined)
    .map(
      ({ subject, check, message, remedy = "" }) =>
        printable(`${subject}, ${check}: ${message}`) + `\n  remedy: ${printable(remedy)}\n`,
    );
  return [formatTable(["SUBJECT", "CHECK", "RESULT", "DETAIL"], rows), ...remedies].join("\n");
}

/** Runs every check, and prints them. Logs in to vaults once, and changes nothing. */
export async function doctor(names: readonly string[], flags: DoctorFlags): Promise<void> {
  using stop = stopSignal();
  const { signal } = stop;
  const checks: Check[] = [];
  await withCluster(flags, async (cluster) => {
    for await (const check of allChecks(cluster, names, flags, signal)) {
      checks.push(check);
      if (process.stderr.isTTY)
        process.stderr.write(`\r\u001B[K${printable(`checked: ${check.subject}, ${check.check}`)}`);
    }
  }).finally(() => process.stderr.isTTY && process.stderr.write("\r\u001B[K"));
  process.stdout.write(format(checks, flags));
  process.exitCode = checks.some(({ result }) => result === "failed") ? NOT_READY : 0;
}
