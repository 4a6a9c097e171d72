import { API_GROUP } from "../../api/kinds.ts";
import type { NamespaceAccess } from "../../sync/namespace-access.ts";
import type { AccountFlags, FormatFlags } from "../../../command-line/options.ts";
import { formatObject } from "../../../command-line/format-object.ts";
import { printable } from "../../../lib/printable.ts";
import { formatTable } from "../../../command-line/table.ts";
import { HAS_PROBLEMS } from "../options.ts";
import { type Problem, problemAt, readManifests, sortProblems } from "../manifests.ts";
import { checkClusterRules } from "./check-cluster-rules.ts";
import { accessThrough, checkResource, type KnownNamespaces } from "./check-resources.ts";
import {
  keyOfConnection,
  keyOfReference,
  planOf,
  type Plan,
  type PlannedPush,
  type PlannedResource,
} from "./planned-resource.ts";
import { References, type ResolvedResource } from "./resolve-references.ts";

/** Flags of `vaultsync plan`. */
export interface PlanFlags extends AccountFlags, FormatFlags {
  readonly filename: string[];
  readonly namespace: string;
  readonly offline?: boolean;
  readonly allowedSecretTypes?: string[];
}

/**
 * One key of a target or one entry of the vault that would be written, or one variable of its
 * template, as `{{ name }}`.
 */
interface PlannedKey {
  readonly resource: string;
  readonly namespace: string;
  readonly target: string;
  readonly key: string;
  readonly source: string;
  /** Absent if the vault was not asked, or has no such version. */
  readonly version?: number | undefined;
}

const pushedKeys = ({ manifest, secret, items }: PlannedPush): PlannedKey[] =>
  items.map(({ key, entry }) => ({
    resource: `vaultpush/${manifest.name}`,
    namespace: manifest.namespace,
    target: `vault ${entry}`,
    key,
    source: `Secret/${secret}`,
  }));

/**
 * Returns a row for each source of a resource; without the list of the vault, one for each rule as
 * well.
 */
function writtenKeys(
  { manifest, resource: { target, template, items, finds } }: PlannedResource,
  resolved: ResolvedResource | undefined,
): PlannedKey[] {
  const versions = new Map(
    resolved?.resolutions.map((one) => [one.item, one.state === "found" ? one.version : undefined]),
  );
  const rules = finds.map(({ id, pattern }) => ({ id, source: pattern, version: undefined }));
  const sources = (resolved?.resource.items ?? items).map((item) => ({
    ...item,
    version: versions.get(item),
  }));
  return [...sources, ...(resolved === undefined ? rules : [])].map(({ id, source, version }) => ({
    resource: `${manifest.kind.toLowerCase()}/${manifest.name}`,
    namespace: manifest.namespace,
    target: `${target.kind}/${target.name}`,
    key: template === undefined ? id : `{{ ${id} }}`,
    source,
    version,
  }));
}

function print(
  keys: readonly PlannedKey[],
  problems: readonly Problem[],
  { output }: PlanFlags,
): void {
  if (output !== "table") process.stdout.write(formatObject({ keys, problems }, output));
  else {
    const header = ["NAMESPACE", "RESOURCE", "TARGET", "KEY", "SOURCE", "VERSION"];
    const rows = keys.map((one) => [
      one.namespace,
      one.resource,
      one.target,
      one.key,
      one.source,
      String(one.version ?? "-"),
    ]);
    if (rows.length > 0) process.stdout.write(formatTable(header, rows));
    for (const { file, line, message } of problems)
      process.stderr.write(`${printable(`${file}:${line}: ${message}`)}\n`);
  }
}

interface Checked {
  readonly keys: readonly PlannedKey[];
  readonly problems: readonly Problem[];
  /** Texts about references and accesses that were not checked. */
  readonly notes: ReadonlySet<string>;
}

/**
 * Checks the resources of a plan by the rules of the operator, and against the lists of the vault
 * unless there is no login.
 */
async function check(
  { connections, resources, pushes }: Plan,
  known: KnownNamespaces,
  references: References | undefined,
): Promise<Checked> {
  const byKey = new Map(connections.map((connection) => [keyOfConnection(connection), connection]));
  const keys: PlannedKey[] = [];
  const problems: Problem[] = [];
  const notes = new Set<string>();
  for (const planned of resources) {
    const { manifest, resource } = planned;
    const connection = byKey.get(keyOfReference(planned));
    const access: NamespaceAccess =
      connection === undefined ? "unknown" : accessThrough(connection, manifest.namespace, known);
    if (connection !== undefined && access === "unknown") {
      notes.add(
        `spec.access of ${keyOfReference(planned)} is not checked for the namespace ${manifest.namespace}: add its Namespace to the files`,
      );
    }
    let resolved: ResolvedResource | undefined;
    if (connection !== undefined && references?.isOf(connection) === true) {
      const result = await references.resolve(resource, connection, access);
      if ("reason" in result) problems.push(problemAt(manifest, ["spec"], result.message));
      else resolved = result;
    } else if (connection !== undefined && references !== undefined) {
      const { kind, spec } = connection;
      notes.add(
        `references of ${kind} ${keyOfConnection(connection)} are not checked: log in to ${spec.url} as ${spec.email}`,
      );
    }
    problems.push(...checkResource(planned, access, resolved));
    keys.push(...writtenKeys(planned, resolved));
  }
  return { keys: [...keys, ...pushes.flatMap(pushedKeys)], problems, notes };
}

/** Loads the client of the vault: `--offline` does not need it. */
async function openReferences({ account }: PlanFlags): Promise<References> {
  const { VaultClient } = await import("../../../protocol/client/vault-client.ts");
  return new References(await VaultClient.open(account));
}

/** Checks manifests and prints what the operator would write. */
export async function plan(flags: PlanFlags): Promise<void> {
  const {
    manifests,
    namespaces,
    problems: unreadable,
  } = await readManifests(flags.filename, API_GROUP, flags.namespace);
  if (manifests.length === 0 && unreadable.length === 0)
    throw new Error(`no ${API_GROUP} objects in ${flags.filename.join(", ")}`);
  const invalid: Problem[] = [];
  const planned = planOf(manifests, flags.allowedSecretTypes ?? [], invalid);
  const references = flags.offline === true ? undefined : await openReferences(flags);
  const { keys, problems, notes } = await check(planned, namespaces, references);
  const all = [...unreadable, ...invalid, ...checkClusterRules(manifests, planned), ...problems];
  print(keys, sortProblems(all), flags);
  for (const note of notes) process.stderr.write(`${printable(note)}\n`);
  process.exitCode = all.length === 0 ? 0 : HAS_PROBLEMS;
}
