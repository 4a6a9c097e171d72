import { isObject } from "../../lib/is-object.ts";
import { formatTable } from "../../command-line/table.ts";
import { type Kind, vaultFileKind, vaultSecretKind } from "../api/kinds.ts";
import { ACCEPT_ANNOTATION } from "../api/names.ts";
import type { KubeObject } from "../kube/resource.ts";
import { annotate } from "./annotate.ts";
import { type Cluster, listAll, withClusterUntilStopped } from "./cluster.ts";
import type { ClusterFlags } from "./options.ts";
import { resourceState } from "./status/resource-state.ts";
import type { ConnectionRef } from "../api/connection-key.ts";

/** Flags of `vaultsync accept`. */
export interface AcceptFlags extends ClusterFlags {
  readonly connection: ConnectionRef;
  readonly dryRun?: boolean;
}

/** A resource whose vault lists lower versions than it has synced. */
interface Regressed {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly items: readonly { source: string; version: number; latest: number }[];
}

function usesConnection({ spec }: KubeObject, { kind, name }: ConnectionRef): boolean {
  const ref = isObject(spec) ? spec["connectionRef"] : undefined;
  return isObject(ref) && (ref["kind"] ?? "VaultConnection") === kind && ref["name"] === name;
}

/** Returns the lower versions that a resource waits for, if it waits for that. */
function regressed(kind: Kind, object: KubeObject): Regressed[] {
  const { namespace, name, reason, items: all } = resourceState(object);
  if (reason !== "VersionRegressed") return [];
  const items = all.flatMap(({ source, version, latest }) =>
    version !== undefined && latest !== undefined && latest < version
      ? [{ source, version, latest }]
      : [],
  );
  return items.length === 0 ? [] : [{ kind, namespace, name, items }];
}

async function findRegressed(
  cluster: Cluster,
  connection: ConnectionRef,
  signal: AbortSignal,
): Promise<Regressed[]> {
  const found = await Promise.all(
    [vaultSecretKind, vaultFileKind].map(async (kind) =>
      (await listAll(cluster, kind, signal))
        .filter((object) => usesConnection(object, connection))
        .flatMap((object) => regressed(kind, object)),
    ),
  );
  return found.flat();
}

/** Returns the annotation that accepts these versions in addition to earlier ones. */
function acceptedBy({ items }: Regressed, earlier: string | undefined): string {
  const pairs = items.map(({ source, latest }) => `${source}@${latest}`);
  const before = (earlier ?? "").split(",").filter((pair) => pair !== "" && !pairs.includes(pair));
  return [...before, ...pairs].join(",");
}

async function acceptAll(
  cluster: Cluster,
  { connection, dryRun = false }: AcceptFlags,
  signal: AbortSignal,
): Promise<void> {
  const resources = await findRegressed(cluster, connection, signal);
  const rows = resources.flatMap(({ kind, namespace, name, items }) =>
    items.map(({ source, version, latest }) => [
      namespace,
      `${kind.singular}/${name}`,
      source,
      String(version),
      String(latest),
    ]),
  );
  const header = ["NAMESPACE", "RESOURCE", "ENTRY", "SYNCED", "ACCEPTED"];
  if (rows.length > 0) process.stdout.write(formatTable(header, rows));
  for (const resource of dryRun ? [] : resources) {
    const { kind, namespace, name } = resource;
    const next = (current: Readonly<Record<string, string>>) => ({
      [ACCEPT_ANNOTATION]: acceptedBy(resource, current[ACCEPT_ANNOTATION]),
    });
    await annotate(cluster.api, kind, { namespace, name }, next, signal);
  }
  const done = dryRun ? "would accept" : "accepted";
  process.stderr.write(
    `${done} lower versions of ${rows.length} entries in ${resources.length} resources of ${connection.kind} ${connection.name}\n`,
  );
}

/** Accepts the lower versions of a vault that was restored. Changes one annotation of each resource. */
export const accept = (flags: AcceptFlags): Promise<void> =>
  withClusterUntilStopped(flags, (cluster, signal) => acceptAll(cluster, flags, signal));
