import { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { systemRandom } from "../../lib/random.ts";
import { vaultConnectionKind, vaultFileKind, vaultSecretKind } from "../api/kinds.ts";
import type { Check } from "../doctor/check.ts";
import { checkCluster } from "../doctor/check-cluster.ts";
import { checkConnection } from "../doctor/check-connection.ts";
import { referencesOf } from "../doctor/references-of.ts";
import {
  addClusterOptions,
  type Cluster,
  type ClusterFlags,
  withCluster,
} from "./cluster/cluster.ts";
import { listClusterConnections } from "./cluster/list-cluster-connections.ts";
import { listAll } from "./cluster/list-all.ts";
import {
  addFormatOption,
  type FormatFlags,
  formatObject,
} from "../../command-line/format-option.ts";
import { printable } from "../../lib/printable.ts";
import { type Cell, formatTable } from "../../command-line/table.ts";
import { NOT_READY } from "./status/status-tables.ts";
import { stopSignal } from "../../command-line/stop-signal.ts";
import { parseWholeNumber } from "./whole-number.ts";

interface DoctorFlags extends ClusterFlags, FormatFlags {
  readonly operatorNamespace: string;
  readonly serviceAccount: string;
  readonly allowHttp?: boolean;
  readonly vaultHosts?: string[];
  readonly maxListBytes: number;
}

const parseList = (text: string): string[] => text.split(",").map((part) => part.trim());

async function* allChecks(
  { api, namespace }: Cluster,
  names: readonly string[],
  { operatorNamespace, serviceAccount, allowHttp = false, vaultHosts, maxListBytes }: DoctorFlags,
  signal: AbortSignal,
): AsyncGenerator<Check> {
  const [clock, random] = [systemClock, systemRandom];
  for await (const check of checkCluster(
    { api, namespace, operatorNamespace, serviceAccount, clock },
    signal,
  )) {
    yield check;
    if (check.check === "CRDs" && check.result === "failed") return;
  }
  const cluster = { api, namespace };
  const secrets = await listAll(cluster, vaultSecretKind, signal);
  const files = await listAll(cluster, vaultFileKind, signal);
  const own = await listAll(cluster, vaultConnectionKind, signal);
  const connections = [
    ...own,
    ...(await listClusterConnections(cluster, [...secrets, ...files], signal)),
  ];
  const unknown = names.filter(
    (name) => !connections.some(({ metadata }) => metadata.name === name),
  );
  if (unknown.length > 0)
    throw new Error(`no connection ${unknown.join(", ")} in use in namespace ${namespace}`);
  const policy = { allowHttp, allowedHosts: vaultHosts };
  for (const connection of connections) {
    if (names.length > 0 && !names.includes(connection.metadata.name)) continue;
    const references = referencesOf(connection, secrets, files);
    const options = {
      api,
      references,
      namespace,
      operatorNamespace,
      policy,
      maxListBytes,
      clock,
      random,
    };
    yield* checkConnection(connection, options, signal);
  }
  if (connections.length === 0)
    process.stderr.write(`no connection in use in namespace ${namespace}\n`);
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

async function doctor(names: readonly string[], flags: DoctorFlags): Promise<void> {
  const signal = stopSignal();
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

/**
 * Returns the definition of `vaultsync doctor`, which reads objects, logs in to vaults once, and
 * changes nothing.
 */
export function doctorCommand(): Command {
  return addFormatOption(addClusterOptions(new Command("doctor")))
    .description(
      `Check a set-up step by step, and say how to resolve each failure: CRDs, the operator and its permissions, and the connections of a namespace with credentials, network, TLS, clock, login and references. Network and TLS are those of this machine. The exit code is ${NOT_READY} if a check failed.`,
    )
    .argument(
      "[connection...]",
      "names of connections (default: those of the namespace, and the ClusterVaultConnections that its resources use)",
    )
    .option("--operator-namespace <name>", "namespace of the operator", "vaultsync-system")
    .option("--service-account <name>", "ServiceAccount of the operator", "vaultsync")
    .option("--allow-http", "the operator runs with --allow-http")
    .option("--vault-hosts <hosts>", "the --vault-hosts of the operator", parseList)
    .option(
      "--max-list-bytes <bytes>",
      "the --max-list-bytes of the operator",
      parseWholeNumber,
      16 * 1024 * 1024,
    )
    .action(async (names: string[], flags: DoctorFlags) => doctor(names, flags));
}
