import { API_GROUP } from "../../api/kinds.ts";
import type { NamespaceAccess } from "../../sync/namespace-access.ts";
import { isFollowing, type UpdatePolicy } from "../../sync/sync-resource.ts";
import { type Problem, problemAt, sortProblems } from "../manifests/manifest.ts";
import { readManifests } from "../manifests/read-manifests.ts";
import { HAS_PROBLEMS } from "../options.ts";
import { checkClusterRules } from "./check-cluster-rules.ts";
import {
  accessThrough,
  checkResource,
  type KnownNamespaces,
  knownNamespaces,
} from "./check-resources.ts";
import { openLogins } from "./open-logins.ts";
import {
  connectionOf,
  keyOfConnection,
  keyOfReference,
  planOf,
  type Plan,
  type PlannedConnection,
  type PlannedPush,
  type PlannedResource,
} from "./planned-resource.ts";
import { type PlanFormat, type PlannedKey, type PlanResult, printPlan } from "./print-plan.ts";
import type { References, ResolvedResource } from "./resolve-references.ts";

/** Flags of `vaultsync plan`. */
export interface PlanFlags {
  readonly filename: string[];
  readonly namespace: string;
  readonly account: string | string[];
  readonly output: PlanFormat;
  readonly offline?: boolean;
  readonly strict?: boolean;
  readonly allowedSecretTypes?: string[];
}

const pushedKeys = ({ manifest, secret, items }: PlannedPush): PlannedKey[] =>
  items.map(({ key, entry }) => ({
    resource: `vaultpush/${manifest.name}`,
    namespace: manifest.namespace,
    target: `vault ${entry}`,
    key,
    source: `Secret/${secret}`,
  }));

/** Returns the gates of a spec, in their order. */
const gatesOf = ({ needsApproval, windows }: UpdatePolicy): string =>
  [needsApproval ? "AwaitingApproval" : [], windows.length > 0 ? "OutsideWindow" : []]
    .flat()
    .join(", ");

/**
 * Returns a row for each source of a resource; without the list of the vault, one for each rule as
 * well.
 */
function writtenKeys(
  { manifest, resource: { target, template, items, finds, updates } }: PlannedResource,
  resolved: ResolvedResource | undefined,
): PlannedKey[] {
  const versions = new Map(
    resolved?.resolutions.map((one) => [one.item, one.state === "found" ? one.version : undefined]),
  );
  const rules = finds.map(({ id, pattern }) => ({
    id,
    source: pattern,
    version: undefined,
    hasGates: true,
  }));
  const sources = (resolved?.resource.items ?? items).map((item) => ({
    ...item,
    version: versions.get(item),
    hasGates: isFollowing(item),
  }));
  const all = [...sources, ...(resolved === undefined ? rules : [])];
  return all.map(({ id, source, version, hasGates }) => ({
    resource: `${manifest.kind.toLowerCase()}/${manifest.name}`,
    namespace: manifest.namespace,
    target: `${target.kind}/${target.name}`,
    key: template === undefined ? id : `{{ ${id} }}`,
    source,
    version,
    ...(hasGates && updates !== undefined && { updates: gatesOf(updates) }),
  }));
}

/** Returns what a plan does not check of a resource: its access, or its references. */
function unchecked(
  planned: PlannedResource,
  declared: ReadonlySet<string>,
  connection: PlannedConnection | undefined,
  access: NamespaceAccess,
  isCompared: boolean,
): string[] {
  const { kind, name } = connectionOf(planned);
  const key = keyOfReference(planned);
  if (connection === undefined) {
    // A VaultConnection that is missing is a problem, and so is one that is invalid.
    const missing = `${kind} ${name} is not in these files: neither its access nor the references through it are checked`;
    return kind === "VaultConnection" || declared.has(key) ? [] : [missing];
  }
  const { url, email } = connection.spec;
  const { namespace } = planned.manifest;
  return [
    ...(access === "unknown"
      ? [
          `spec.access of ${key} is not checked for the namespace ${namespace}: add its Namespace to the files`,
        ]
      : []),
    ...(isCompared
      ? []
      : [`references of ${kind} ${key} are not checked: log in to ${url} as ${email}`]),
  ];
}

/**
 * Checks the resources of a plan by the rules of the operator, and against the lists of the vault
 * that each login sees; without `logins` none is compared.
 */
async function check(
  { declared, connections, resources, pushes }: Plan,
  known: KnownNamespaces,
  logins: readonly References[] | undefined,
): Promise<PlanResult> {
  const byKey = new Map(connections.map((connection) => [keyOfConnection(connection), connection]));
  const keys: PlannedKey[] = [];
  const problems: Problem[] = [];
  const notes = new Set<string>();
  for (const planned of resources) {
    const { manifest, resource } = planned;
    const connection = byKey.get(keyOfReference(planned));
    const access: NamespaceAccess =
      connection === undefined ? "unknown" : accessThrough(connection, manifest.namespace, known);
    const login = connection && logins?.find((references) => references.isOf(connection));
    const isCompared = logins === undefined || login !== undefined;
    for (const note of unchecked(planned, declared, connection, access, isCompared))
      notes.add(note);
    let resolved: ResolvedResource | undefined;
    if (connection !== undefined && login !== undefined) {
      const result = await login.resolve(resource, connection, access);
      if ("reason" in result) problems.push(problemAt(manifest, ["spec"], result.message));
      else resolved = result;
    }
    problems.push(...checkResource(planned, access, resolved));
    keys.push(...writtenKeys(planned, resolved));
  }
  return { keys: [...keys, ...pushes.flatMap(pushedKeys)], problems, notChecked: [...notes] };
}

/** Checks manifests and prints what the operator would write. */
export async function plan(flags: PlanFlags): Promise<void> {
  const read = await readManifests(flags.filename, API_GROUP, flags.namespace);
  const { manifests, problems: unreadable } = read;
  if (manifests.length === 0 && unreadable.length === 0)
    throw new Error(`no ${API_GROUP} objects in ${flags.filename.join(", ")}`);
  const invalid: Problem[] = [];
  const planned = planOf(manifests, flags.allowedSecretTypes ?? [], invalid);
  const logins = flags.offline === true ? undefined : await openLogins([flags.account].flat());
  const checked = await check(planned, knownNamespaces(read), logins);
  const problems = [
    ...unreadable,
    ...invalid,
    ...checkClusterRules(read, planned),
    ...checked.problems,
  ];
  printPlan({ ...checked, problems: sortProblems(problems) }, flags.output);
  const isComplete = flags.strict !== true || checked.notChecked.length === 0;
  process.exitCode = problems.length === 0 && isComplete ? 0 : HAS_PROBLEMS;
}
