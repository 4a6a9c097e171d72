import type { VaultClient } from "../../../protocol/client/vault-client.ts";
import { API_GROUP } from "../../api/kinds.ts";
import { checkAccess, type NamespaceAccess } from "../../sync/namespace-access.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";
import { entriesOf } from "../../sync/sync-key.ts";
import { distinctProblems, type Problem, problemAt, sortProblems } from "../manifests/manifest.ts";
import { readManifests } from "../manifests/read-manifests.ts";
import { HAS_PROBLEMS } from "../options.ts";
import { checkClusterRules } from "./check-cluster-rules.ts";
import {
  accessThrough,
  checkResource,
  type KnownNamespaces,
  knownNamespaces,
} from "./check-resources.ts";
import { withConnections, withNamespaces } from "./cluster-state.ts";
import type { ComparedResource } from "./compared-resource.ts";
import type { Comparison, ComparisonFlags } from "./comparison.ts";
import {
  type CheckedResource,
  inNamespaces,
  unknownNamespaces,
  withoutAcceptedDenials,
} from "./fan-out.ts";
import {
  connectionOf,
  keyOfConnection,
  keyOfReference,
  planOf,
  type Plan,
  type PlannedConnection,
  type PlannedResource,
} from "./planned-resource.ts";
import { type PlanFormat, type PlanResult, printPlan } from "./print-plan.ts";
import { type EntryReader, References, type ResolvedResource } from "./resolve-references.ts";
import { pushedKeys, writtenKeys } from "./written-keys.ts";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/**
 * Returns the files of logins at a path: all of a directory. A path that does not exist is
 * returned, because opening it says to log in.
 */
async function loginsAt(path: string): Promise<string[]> {
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isDirectory) return [path];
  const names = (await readdir(path)).filter((name) => name.endsWith(".json"));
  return names.sort().map((name) => join(path, name));
}

/**
 * Opens the logins of files and directories. Loads the client of the vault.
 * @param readerOf returns what reads values; without it, none is read
 * @throws Error that says to log in, when there is none
 */
async function openLogins(
  { account }: { readonly account: string | readonly string[] },
  { readerOf }: { readonly readerOf?: (client: VaultClient) => EntryReader } = {},
): Promise<References[]> {
  const { VaultClient } = await import("../../../protocol/client/vault-client.ts");
  const files = (await Promise.all([account].flat().map(loginsAt))).flat();
  if (files.length === 0) throw new Error("not logged in: run vaultsync login");
  return Promise.all(
    files.map(async (file) => {
      const client = await VaultClient.open(file);
      return new References(client, readerOf?.(client));
    }),
  );
}

/** Flags of `vaultsync plan`. */
export interface PlanFlags extends ComparisonFlags {
  readonly filename: string[];
  readonly namespace: string;
  /** Compare with the current context; the flags that select another cluster imply it. */
  readonly cluster?: boolean;
  readonly account: string | string[];
  readonly output: PlanFormat;
  readonly offline?: boolean;
  /** Read the values, and check what they make. */
  readonly validate?: boolean;
  readonly strict?: boolean;
  readonly allowedSecretTypes?: string[];
}

/** Checks the values that a resource would get. */
export type ContentCheck = (
  planned: PlannedResource,
  access: NamespaceAccess,
  resolved: ResolvedResource,
) => Promise<{ readonly problems: readonly Problem[]; readonly notes: readonly string[] }>;

/** A check of values, and what reads them. */
export interface ContentChecks {
  readonly problemsOf: ContentCheck;
  readonly readerOf: (client: VaultClient) => EntryReader;
}

/** A plan, and the sources of facts that it is checked with. */
interface Checks {
  readonly whole: Plan;
  /** The connections of the plan by key. */
  readonly connections: ReadonlyMap<string, PlannedConnection>;
  readonly namespaces: KnownNamespaces;
  /** Each sees lists of the vault; without logins no reference is compared. */
  readonly logins: readonly References[] | undefined;
  readonly comparison: Comparison | undefined;
  /** Checks values, too. */
  readonly problemsOf?: ContentCheck | undefined;
}

/** A resource, and what it is checked with. */
interface Subject {
  readonly planned: PlannedResource;
  readonly connection: PlannedConnection | undefined;
  readonly access: NamespaceAccess;
  /** The login of the connection. */
  readonly login: References | undefined;
  readonly compared: ComparedResource | undefined;
}

function subjectOf(
  planned: PlannedResource,
  { connections, namespaces, logins, comparison }: Checks,
): Subject {
  const connection = connections.get(keyOfReference(planned));
  const compared = comparison?.compared(planned, connection);
  if (connection === undefined)
    return { planned, connection, access: "unknown", login: undefined, compared };
  const access = accessThrough(connection, planned.manifest.namespace, namespaces);
  const login = logins?.find((references) => references.isOf(connection));
  return { planned, connection, access, login, compared };
}

/** Resolves the references of a resource; `undefined` if no login sees the list. */
async function resolve({
  planned,
  connection,
  access,
  login,
  compared,
}: Subject): Promise<ResolvedResource | ReadyCondition | undefined> {
  if (connection === undefined || login === undefined) return undefined;
  return compared === undefined
    ? login.resolve(planned.resource, connection, access)
    : compared.resolve(login, connection, access);
}

/** Returns the note about a connection that is not known, if that is no problem. */
function missingNote(planned: PlannedResource, { whole, comparison }: Checks): string[] {
  const { kind, name } = connectionOf(planned);
  const key = keyOfReference(planned);
  const unknown = "neither its access nor the references through it are checked";
  if (comparison?.state.unreadable.has(key) === true)
    return [`you may not read ${kind} ${key}: ${unknown}`];
  // A VaultConnection that is missing is a problem, and so is one that is invalid.
  if (kind === "VaultConnection" || whole.declared.has(key)) return [];
  const where =
    comparison === undefined ? "not in these files" : "neither in these files nor in the cluster";
  return [`${kind} ${name} is ${where}: ${unknown}`];
}

/** Returns what a plan does not check of a resource: its access, or its references. */
function unchecked({ planned, connection, access, login }: Subject, checks: Checks): string[] {
  if (connection === undefined) return missingNote(planned, checks);
  const { url, email } = connection.spec;
  const { namespace } = planned.manifest;
  const key = keyOfReference(planned);
  const { kind } = connectionOf(planned);
  return [
    ...(access === "unknown" && namespace !== ""
      ? [
          `spec.access of ${key} is not checked for the namespace ${namespace}: add its Namespace to the files`,
        ]
      : []),
    ...(checks.logins === undefined || login !== undefined
      ? []
      : [`references of ${kind} ${key} are not checked: log in to ${url} as ${email}`]),
  ];
}

/** Checks a resource by its spec, by the list of its sources, and then by their values. */
async function problemsOf(
  { planned, access, compared }: Subject,
  resolved: ResolvedResource | undefined,
  checks: Checks,
): Promise<Awaited<ReturnType<ContentCheck>>> {
  const problems = checkResource(planned, access, resolved, resolved && compared?.synced);
  if (problems.length > 0 || resolved === undefined || checks.problemsOf === undefined)
    return { problems, notes: [] };
  return checks.problemsOf(planned, access, resolved);
}

/** Returns the problem of a resource that may not read its sources: it is the only one. */
function deniedIn({ planned, access }: Subject, problems: readonly Problem[]): Problem | undefined {
  const { resource } = planned;
  const verdict = checkAccess(resource, entriesOf(resource.kind), access);
  return typeof verdict === "object" ? problems[0] : undefined;
}

/** Checks a resource by the rules of the operator, and against the list that a login sees. */
async function checkOne(planned: PlannedResource, checks: Checks): Promise<CheckedResource> {
  const subject = subjectOf(planned, checks);
  const { access, login, compared } = subject;
  const result = await resolve(subject);
  const [resolved, tooMuch] =
    result !== undefined && "reason" in result ? [undefined, result.message] : [result];
  const found = await problemsOf(subject, resolved, checks);
  const problems = [
    ...(tooMuch === undefined ? [] : [problemAt(planned.manifest, ["spec"], tooMuch)]),
    ...found.problems,
  ];
  const notChecked = [...unchecked(subject, checks), ...found.notes];
  const facts = { planned, problems, denied: deniedIn(subject, found.problems) };
  if (compared === undefined)
    return { ...facts, keys: writtenKeys(planned, resolved), restarts: [], notChecked };
  const keys = await compared.keys(resolved, access, login);
  const { comparison } = checks;
  return {
    ...facts,
    keys,
    restarts: comparison?.restarts(planned, compared, keys) ?? [],
    notChecked: [
      ...notChecked,
      ...compared.notesOf(keys),
      ...(comparison?.hiddenRestarts(planned, keys) ?? []),
    ],
  };
}

/** Checks the resources of a plan. */
export async function check(given: Omit<Checks, "connections">): Promise<PlanResult> {
  const { whole, comparison } = given;
  const connections = new Map(whole.connections.map((one) => [keyOfConnection(one), one]));
  const all: CheckedResource[] = [];
  for (const planned of whole.resources)
    all.push(await checkOne(planned, { ...given, connections }));
  const checked = withoutAcceptedDenials(all);
  const notes = checked.flatMap(({ notChecked }) => notChecked);
  return {
    keys: [...checked.flatMap(({ keys }) => keys), ...whole.pushes.flatMap(pushedKeys)],
    ...(comparison && { restarts: checked.flatMap(({ restarts }) => restarts) }),
    problems: [
      ...checked.flatMap(({ problems }) => problems),
      ...(comparison?.conflicts(whole) ?? []),
    ],
    notChecked: [
      ...new Set([
        ...(comparison?.state.notChecked ?? []),
        ...(comparison?.notCompared(whole) ?? []),
        ...notes,
      ]),
    ],
  };
}

/** Returns what makes all namespaces of the cluster-scoped resources known. */
function namespaceRemedy(comparison: Comparison | undefined): string | undefined {
  if (comparison?.state.allNamespaces !== undefined) return undefined;
  return comparison === undefined
    ? "add their Namespaces to the files, or compare with a cluster (--cluster)"
    : "you may not list the namespaces of the cluster";
}

async function checkFiles(
  flags: PlanFlags,
  contents: ContentChecks | undefined,
  compare?: (plan: Plan) => Promise<Comparison>,
): Promise<void> {
  const read = await readManifests(flags.filename, API_GROUP, flags.namespace);
  const { manifests, problems: unreadable } = read;
  if (manifests.length === 0 && unreadable.length === 0)
    throw new Error(`no ${API_GROUP} objects in ${flags.filename.join(", ")}`);
  const invalid: Problem[] = [];
  const inFiles = planOf(manifests, flags.allowedSecretTypes ?? [], invalid);
  const comparison = await compare?.(inFiles);
  const known = knownNamespaces(read);
  const [connected, namespaces] =
    comparison === undefined
      ? [inFiles, known]
      : [withConnections(inFiles, comparison.state), withNamespaces(known, comparison.state)];
  const whole = inNamespaces(connected, namespaces);
  const unknown = unknownNamespaces(whole, namespaces, namespaceRemedy(comparison));
  const logins = flags.offline === true ? undefined : await openLogins(flags, contents);
  const found = await check({ whole, namespaces, logins, comparison, ...contents });
  const checked = { ...found, notChecked: [...unknown, ...found.notChecked] };
  const where = comparison === undefined ? "in these files" : "in these files or in the cluster";
  const problems = [
    ...unreadable,
    ...invalid,
    ...checkClusterRules(read, whole, where),
    ...checked.problems,
  ];
  printPlan({ ...checked, problems: distinctProblems(sortProblems(problems)) }, flags.output);
  const isComplete = flags.strict !== true || checked.notChecked.length === 0;
  process.exitCode = problems.length === 0 && isComplete ? 0 : HAS_PROBLEMS;
}

/**
 * Checks manifests and prints what the operator would write; with a cluster, also what that changes.
 * @param contents checks the values, too
 */
export async function plan(flags: PlanFlags, contents?: ContentChecks): Promise<void> {
  const { cluster = false, context, kubeconfig, as } = flags;
  const selected = [context, kubeconfig, as].some((flag) => flag !== undefined);
  if (!cluster && !selected) return checkFiles(flags, contents);
  const { withComparison } = await import("./comparison.ts");
  return withComparison(flags, (compare) => checkFiles(flags, contents, compare));
}
