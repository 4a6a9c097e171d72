import type { Command } from "commander";
import { confirm } from "../../../command-line/confirm.ts";
import type { AccountFlags, FormatFlags } from "../../../command-line/options.ts";
import { formatTable, formatObject } from "../../../command-line/format.ts";
import { clusterVaultSecretKind } from "../../api/kinds.ts";
import { ALL_NAMESPACES, CONFIG_MAPS, SECRETS } from "../../kube/resource.ts";
import { withClusterUntilStopped, type Cluster } from "../cluster.ts";
import { type ClusterFlags, NOT_READY } from "../options.ts";
import { matchesName } from "../../sync/find-items.ts";
import type { VaultClient } from "../../../protocol/client/vault-client.ts";
import { mayReadOwn } from "../updates/connected-entries.ts";
import { entriesOf, fansOut } from "../../sync/sync-key.ts";
import { hiddenVersions } from "../shown-namespaces.ts";
import { type Usage, type UsingResource, usersOf, type Workload } from "./read-usage.ts";
import { readWholeUsage } from "./read-whole-usage.ts";
import { idOf } from "./usage.ts";
import { OWNER_ANNOTATION } from "../../api/names.ts";
import { isKubeError } from "../../kube/kube-error.ts";

/** Texts about what uses a target of a cluster-scoped resource, by the resource. */
type DeselectedUsers = ReadonlyMap<UsingResource, readonly string[]>;

/** Returns the workloads outside of the selected namespaces that use an object with a target's name. */
function strangersOf(
  { workloads, resources }: Usage,
  { kind, name, target }: UsingResource,
): readonly Workload[] {
  const selected = new Set(
    resources
      .filter((one) => one.kind === kind && one.name === name)
      .map(({ namespace }) => namespace),
  );
  return workloads.filter(({ namespace, uses }) => !selected.has(namespace) && uses.has(target));
}

/**
 * Reports whether the target of a resource stayed in a namespace that it does not select any more;
 * `unknown` if the user may not read it. Reads metadata only. @throws KubeError
 */
async function hasTarget(
  { api }: Pick<Cluster, "api">,
  { kind, name, target }: UsingResource,
  namespace: string,
  signal: AbortSignal,
): Promise<boolean | "unknown"> {
  const [targetKind, targetName = ""] = target.split("/");
  const descriptor = targetKind === SECRETS.kind ? SECRETS : CONFIG_MAPS;
  try {
    const { metadata } = await api.getMetadata(descriptor, { namespace, name: targetName }, signal);
    return metadata.annotations?.[OWNER_ANNOTATION] === `${kind}/${name}`;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return false;
    if (isKubeError(error, "Forbidden")) return "unknown";
    throw error;
  }
}

/**
 * Finds the workloads that use targets of cluster-scoped resources in namespaces that these do not
 * select any more: such a target stays, with the versions that it had. @throws KubeError
 */
async function deselectedUsers(
  cluster: Pick<Cluster, "api">,
  usage: Usage,
  signal: AbortSignal,
): Promise<DeselectedUsers> {
  const found = new Map<UsingResource, readonly string[]>();
  for (const resource of usage.clusterWide) {
    const texts: string[] = [];
    const byNamespace = Map.groupBy(strangersOf(usage, resource), ({ namespace }) => namespace);
    for (const [namespace, users] of byNamespace) {
      const isTarget = await hasTarget(cluster, resource, namespace, signal);
      if (isTarget === false) continue;
      const names = users.map(({ kind, name }) => `${kind} ${name}`).join(", ");
      texts.push(`${names} in the deselected namespace ${namespace}`);
    }
    found.set(resource, texts);
  }
  return found;
}

/** Flags of `vaultsync retire`. */
export interface RetireFlags extends ClusterFlags, AccountFlags, FormatFlags {
  readonly version: number;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** The state of one resource that refers to an entry. */
interface Proof {
  readonly resource: UsingResource;
  readonly version: number | undefined;
  /** Why pods may still run the version; `undefined` if none does. */
  readonly problem: string | undefined;
}

/** A version of an entry that is to be deleted. */
interface Retired {
  readonly entry: string;
  readonly version: number;
}

/** Returns why a target may have this version of an entry, or an earlier one, or is to get it. */
function targetProblem(
  { isCurrent, requested }: UsingResource,
  versions: readonly (number | undefined)[],
  { entry, version: retired }: Retired,
): string | undefined {
  if (!isCurrent) return "its status does not show all versions of the current spec";
  if (versions.some((version) => version === undefined)) return "it has no version of the entry";
  if (versions.some((version = 0) => version <= retired))
    return `its target has version ${Math.min(...versions.map((version = 0) => version))}`;
  const isRequested = requested.some((one) => one.entry === entry && one.version === retired);
  return isRequested ? `version ${retired} is requested for its target` : undefined;
}

/** Returns why pods may use a target whose content nothing proves. */
function userProblem(
  { unseen }: Usage,
  users: readonly string[],
  because = "",
): string | undefined {
  if (users.length > 0) return `nothing shows what ${users.join(", ")} runs${because}`;
  return unseen.length > 0
    ? `you may not list ${unseen.join(", ")}: they may use its target`
    : undefined;
}

const nameOf = ({ kind, name }: Workload): string => `${kind} ${name}`;

/** Returns why pods may still run a version of an entry that a resource refers to. */
function problemOf(
  usage: Usage,
  resource: UsingResource,
  versions: readonly (number | undefined)[],
  retired: Retired,
): string | undefined {
  const { converged, isCurrent } = resource;
  if (isCurrent && versions.length === 0) return undefined;
  const ofTarget = targetProblem(resource, versions, retired);
  if (ofTarget !== undefined || converged?.status === "True") return ofTarget;
  if (converged !== undefined) return converged.message;
  return userProblem(usage, usersOf(usage, resource).map(nameOf));
}

/**
 * Returns the same of a cluster-scoped resource: all its targets have to be in sync, and no pod may
 * use one, because nothing proves what pods run.
 */
function clusterProblem(
  usage: Usage,
  resource: UsingResource,
  versions: readonly (number | undefined)[],
  retired: Retired,
  deselected: readonly string[],
): string | undefined {
  if (resource.isCurrent && versions.length === 0)
    return "its rules match the name, and its status does not show what they find in each namespace";
  const ofTarget = targetProblem(resource, versions, retired) ?? hiddenVersions(resource.object);
  if (ofTarget !== undefined) return ofTarget;
  if (usage.hidden.length > 0) return `you may not list ${usage.hidden.join(", ")}`;
  const users = usage.resources
    .filter(({ kind, name }) => kind === resource.kind && name === resource.name)
    .flatMap((one) =>
      usersOf(usage, one).map((user) => `${nameOf(user)} in namespace ${one.namespace}`),
    );
  const all = [...users, ...deselected];
  return userProblem(usage, all, `: a ${resource.kind} has no condition Converged`);
}

/** Reports whether a resource that does not show an entry may refer to it. */
function mayRefer({ kind, isCurrent, mayFind, finds }: UsingResource, name: string): boolean {
  // The status of a cluster-scoped resource shows what the rules find in one namespace.
  if (fansOut(kind) && finds.some((find) => matchesName(find, name))) return true;
  return !isCurrent && mayFind;
}

/**
 * Returns the resources that refer to an entry, or may, and for each why pods may still run a
 * version of it. A resource whose status does not show all its entries may refer to any. A
 * cluster-scoped one counts once.
 * @param deselected what uses targets in namespaces that are not selected any more
 */
export function proofsOf(
  usage: Usage,
  name: string,
  retired: number,
  deselected: DeselectedUsers = new Map(),
): Proof[] {
  const what: Retired = { entry: name, version: retired };
  const namespaced = usage.resources.filter(({ kind }) => !fansOut(kind));
  return [...namespaced, ...usage.clusterWide]
    .filter(({ kind }) => entriesOf(kind) === "secret")
    .flatMap((resource) => {
      const used = resource.entries.filter(({ entry }) => entry === name);
      const versions = used.map(({ version }) => version);
      if (used.length === 0 && !mayRefer(resource, name)) return [];
      const known = versions.filter((version) => version !== undefined);
      const version = known.length === 0 ? undefined : Math.min(...known);
      const others = deselected.get(resource) ?? [];
      const problem = fansOut(resource.kind)
        ? clusterProblem(usage, resource, versions, what, others)
        : problemOf(usage, resource, versions, what);
      return [{ resource, version, problem }];
    });
}

function print(proofs: readonly Proof[], output: FormatFlags["output"]): void {
  const shown = proofs.map(({ resource, version, problem }) => ({
    namespace: resource.namespace,
    resource: idOf(resource),
    version,
    problem,
  }));
  if (output !== "table") process.stdout.write(formatObject({ resources: shown }, output));
  if (output !== "table" || proofs.length === 0) return;
  const header = ["NAMESPACE", "RESOURCE", "VERSION", "PROBLEM"];
  const rows = shown.map(({ namespace, resource, version = "-", problem = "-" }) => [
    namespace || "-",
    resource,
    `${version}`,
    problem,
  ]);
  process.stdout.write(formatTable(header, rows));
}

/**
 * Checks that a proof is about the secret that would be deleted: the account of the login may have
 * another one of the name. @throws Error if it is about none of the login
 */
async function checkLogin(
  client: VaultClient,
  cluster: Pick<Cluster, "api">,
  proofs: readonly Proof[],
  name: string,
  signal: AbortSignal,
): Promise<void> {
  if (proofs.length === 0) return;
  for (const { resource } of proofs)
    if (await mayReadOwn(client, cluster, { object: resource.object, name }, signal)) return;
  throw new Error(
    `no resource refers to ${name} of ${client.email} at ${client.url}: log in as the owner of the secret that they refer to; nothing was deleted`,
  );
}

/**
 * Deletes a version of a secret in the vault, once no resource of the cluster has it and no pod runs
 * it.
 */
export const retire = (name: string, flags: RetireFlags, command: Command): Promise<void> =>
  withClusterUntilStopped(flags, async ({ api }, signal) => {
    const { version } = flags;
    const usage = await readWholeUsage({ api, namespace: ALL_NAMESPACES }, signal);
    const proofs = proofsOf(usage, name, version, await deselectedUsers({ api }, usage, signal));
    print(proofs, flags.output);
    const open = proofs.filter(({ problem }) => problem !== undefined);
    const isHidden = usage.hidden.includes(clusterVaultSecretKind.plural);
    if (isHidden)
      process.stderr.write(
        `you may not list ${clusterVaultSecretKind.plural}: they may refer to ${name}\n`,
      );
    if (open.length > 0 || isHidden) {
      process.stderr.write(`version ${version} of ${name} may be in use: nothing was deleted\n`);
      process.exitCode = NOT_READY;
      return;
    }
    if (flags.dryRun === true) return;
    const what = `version ${version} of ${name}`;
    const question =
      proofs.length === 0
        ? `No resource of the cluster refers to ${name}. Delete ${what} in the vault? It cannot be undone.`
        : `Delete ${what} in the vault? It cannot be undone.`;
    if (!(await confirm(question, flags, command))) return;
    const { VaultClient } = await import("../../../protocol/client/vault-client.ts");
    const { versionDelete } = await import("../../../protocol/operations/secrets.ts");
    const client = await VaultClient.open(flags.account);
    await checkLogin(client, { api }, proofs, name, signal);
    await client.call(versionDelete, { key_name: name, key_version: version });
    process.stderr.write(`deleted ${what}\n`);
  });
