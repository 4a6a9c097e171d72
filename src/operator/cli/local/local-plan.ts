import type { AccountFlags } from "../../../command-line/options.ts";
import { withoutTrailingSlashes } from "../../../lib/without-trailing-slashes.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import type { VaultClient } from "../../../protocol/client/vault-client.ts";
import { API_GROUP } from "../../api/kinds.ts";
import { entriesOf } from "../../sync/sync-key.ts";
import { type Problem, problemAt, sortProblems } from "../manifests/manifest.ts";
import { type Manifests, readManifests } from "../manifests/read-manifests.ts";
import { checkClusterRules } from "../plan/check-cluster-rules.ts";
import { type KnownNamespaces, knownNamespaces } from "../plan/check-resources.ts";
import {
  connectionOf,
  keyOfConnection,
  keyOfReference,
  type Plan,
  type PlannedConnection,
  type PlannedResource,
  planOf,
} from "../plan/planned-resource.ts";

/** Flags that select manifests and the login that reads their sources. */
export interface LocalFlags extends AccountFlags {
  readonly filename: string[];
  readonly namespace: string;
  readonly allowedSecretTypes?: string[];
  /** Token of a workload, instead of an account. */
  readonly identityTokenFile?: string;
  readonly caFile?: string;
}

/** A resource, and the connection that says what it may read. */
interface ConnectedResource {
  readonly planned: PlannedResource;
  readonly connection: PlannedConnection;
}

/** The resources of manifests, each with a connection that the login can stand in for. */
export interface LocalPlan {
  readonly resources: readonly ConnectedResource[];
  readonly namespaces: KnownNamespaces;
  readonly problems: readonly Problem[];
}

type Login = Pick<VaultClient, "url" | "email">;

/** Returns the connection of a resource whose files lack it: the login itself. */
function loginConnection(planned: PlannedResource, { url, email }: Login): PlannedConnection {
  const { kind, name } = connectionOf(planned);
  const everything = { namespaceSelector: {}, secrets: ["*"], files: ["*"] };
  return {
    kind,
    manifest: { ...planned.manifest, kind, name },
    spec: {
      url,
      email,
      auth: { passwordSecretRef: { name } },
      ...(kind === "ClusterVaultConnection" && { access: [everything] }),
    },
  };
}

/**
 * Returns why a login cannot read for a connection. Another account of the vault can read the
 * secrets that are shared with it; files cannot be shared.
 */
function loginProblems(
  { planned: { manifest, resource }, connection: { kind, spec, manifest: of } }: ConnectedResource,
  login: Login,
): Problem[] {
  const isVault = withoutTrailingSlashes(spec.url) === login.url;
  const isAccount = canonicalEmail(spec.email) === canonicalEmail(login.email);
  if (isVault && (isAccount || entriesOf(resource.kind) === "secret")) return [];
  const message = `${login.email} is logged in at ${login.url}: log in to ${spec.url} as ${spec.email}, as the ${kind} ${of.name} says`;
  return [problemAt(manifest, ["spec", "connectionRef"], message)];
}

/** Returns each resource with its connection, in the order of the files. */
function connected({ connections, resources }: Plan, login: Login): ConnectedResource[] {
  const known = new Map(connections.map((one) => [keyOfConnection(one), one]));
  return resources.map((planned) => {
    const connection = known.get(keyOfReference(planned)) ?? loginConnection(planned, login);
    return { planned, connection };
  });
}

/** The manifests of files, and what is wrong with them before a login is known. */
export interface LocalManifests {
  readonly read: Manifests;
  readonly plan: Plan;
  readonly problems: readonly Problem[];
}

/** Returns the problem of a resource with targets in several namespaces. */
const fanOutProblem = ({ manifest }: PlannedResource): Problem =>
  problemAt(
    manifest,
    ["kind"],
    `a ${manifest.kind} has targets in several namespaces: only VaultSecrets and VaultFiles are read here`,
  );

/** Reads the manifests of files. @throws Error when a file cannot be read */
export async function readLocalManifests({
  filename,
  namespace,
  allowedSecretTypes = [],
}: LocalFlags): Promise<LocalManifests> {
  const read = await readManifests(filename, API_GROUP, namespace);
  const problems: Problem[] = [...read.problems];
  const plan = planOf(read.manifests, allowedSecretTypes, problems);
  problems.push(...plan.fannedOut.map(fanOutProblem));
  if (plan.resources.length === 0 && problems.length === 0)
    throw new Error(`no VaultSecret or VaultFile in ${filename.join(", ")}`);
  return { read, plan, problems: sortProblems(problems) };
}

/**
 * Returns the VaultSecrets and VaultFiles of manifests, with what `vaultsync plan` finds wrong with
 * their specs. A connection may be missing: then the login decides what there is to read.
 */
export function localPlan({ read, plan, problems }: LocalManifests, login: Login): LocalPlan {
  const resources = connected(plan, login);
  const connections = resources.map(({ connection }) => connection);
  const declared = new Set([...plan.declared, ...connections.map(keyOfConnection)]);
  const found = [
    ...problems,
    ...checkClusterRules(read, { ...plan, connections, declared }),
    ...resources.flatMap((one) => loginProblems(one, login)),
  ];
  return { resources, namespaces: knownNamespaces(read), problems: sortProblems(found) };
}
