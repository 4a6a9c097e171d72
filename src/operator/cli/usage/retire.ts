import type { Command } from "commander";
import { confirm } from "../../../command-line/confirm.ts";
import { formatObject } from "../../../command-line/format-object.ts";
import type { AccountFlags, FormatFlags } from "../../../command-line/options.ts";
import { formatTable } from "../../../command-line/table.ts";
import { ALL_NAMESPACES } from "../../kube/resource.ts";
import { withClusterUntilStopped } from "../cluster.ts";
import { type ClusterFlags, NOT_READY } from "../options.ts";
import { readUsage, type Usage, type UsingResource, usersOf } from "./read-usage.ts";
import { idOf } from "./usage.ts";

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

/** Returns why pods may still run a version of an entry that a resource refers to. */
function problemOf(
  usage: Usage,
  resource: UsingResource,
  versions: readonly (number | undefined)[],
  retired: number,
): string | undefined {
  if (!resource.isCurrent) return "its status does not show all versions of the current spec";
  if (versions.length === 0) return undefined;
  if (versions.some((version) => version === undefined)) return "it has no version of the entry";
  if (versions.some((version = 0) => version <= retired))
    return `its target has version ${Math.min(...versions.map((version = 0) => version))}`;
  const { converged } = resource;
  if (converged?.status === "True") return undefined;
  if (converged !== undefined) return converged.message;
  const users = usersOf(usage, resource);
  if (users.length > 0)
    return `nothing shows what ${users.map(({ kind, name }) => `${kind} ${name}`).join(", ")} runs`;
  return usage.unseen.length > 0
    ? `you may not list ${usage.unseen.join(", ")}: they may use its target`
    : undefined;
}

/**
 * Returns the resources that refer to an entry, or may, and for each why pods may still run a
 * version of it. A resource whose status does not show all its entries may refer to any.
 */
export function proofsOf(usage: Usage, name: string, retired: number): Proof[] {
  return usage.resources
    .filter(({ kind }) => kind === "VaultSecret")
    .flatMap((resource) => {
      const used = resource.entries.filter(({ entry }) => entry === name);
      const versions = used.map(({ version }) => version);
      const mayRefer = used.length > 0 || (!resource.isCurrent && resource.mayFind);
      if (!mayRefer) return [];
      const known = versions.filter((version) => version !== undefined);
      const version = known.length === 0 ? undefined : Math.min(...known);
      return [{ resource, version, problem: problemOf(usage, resource, versions, retired) }];
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
    namespace,
    resource,
    `${version}`,
    problem,
  ]);
  process.stdout.write(formatTable(header, rows));
}

/**
 * Deletes a version of a secret in the vault, once no resource of the cluster has it and no pod runs
 * it.
 */
export const retire = (name: string, flags: RetireFlags, command: Command): Promise<void> =>
  withClusterUntilStopped(flags, async ({ api }, signal) => {
    const { version } = flags;
    const usage = await readUsage({ api, namespace: ALL_NAMESPACES }, signal);
    const proofs = proofsOf(usage, name, version);
    print(proofs, flags.output);
    const open = proofs.filter(({ problem }) => problem !== undefined);
    if (open.length > 0) {
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
    await client.call(versionDelete, { key_name: name, key_version: version });
    process.stderr.write(`deleted ${what}\n`);
  });
