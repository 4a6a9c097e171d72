import type { AccountFlags, FormatFlags } from "../../../command-line/options.ts";
import { formatTable, formatObject } from "../../../command-line/format.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { readTimestamp } from "../../../protocol/read-timestamp.ts";
import { formatTimestamp } from "../../sync/timestamp.ts";
import { vaultPushKind } from "../../api/kinds.ts";
import { pushStatus, vaultPushSpec } from "../../api/vault-push.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { type KubeObject, NAMESPACES } from "../../kube/resource.ts";
import { matchesName } from "../../sync/find-items.ts";
import { entriesOf, fansOut } from "../../sync/sync-key.ts";
import { type Cluster, listAll } from "../cluster.ts";
import type { ClusterFlags } from "../options.ts";
import type { Usage } from "./read-usage.ts";

/** An entry of the vault account. */
interface ListedEntry {
  readonly kind: "secret" | "file";
  readonly name: string;
  readonly latest: number;
  /** Time of the latest version, RFC 3339. */
  readonly createdAt: string | undefined;
}

/** Entries that VaultPushes write. */
export interface PushedEntries {
  /** `<kind> <name>` of each entry. */
  readonly entries: readonly string[];
  /** The user may not list them. */
  readonly isHidden: boolean;
}

const named = (kind: ListedEntry["kind"], name: string | undefined): string[] =>
  name === undefined ? [] : [`${kind} ${name}`];

/** Returns the entries that a VaultPush writes, by its spec and its status. */
function entriesOfPush({ spec, status }: KubeObject): string[] {
  const wanted = vaultPushSpec.safeParse(spec).data?.data ?? [];
  const shown = pushStatus.safeParse(status).data?.items ?? [];
  return [
    ...wanted.flatMap(({ remoteRef, file }) => [
      ...named("secret", remoteRef?.key),
      ...named("file", file?.filename),
    ]),
    ...shown.flatMap(({ key, filename }) => [...named("secret", key), ...named("file", filename)]),
  ];
}

/** Reads what the VaultPushes of a namespace or the cluster write. @throws KubeError */
export async function readPushed(cluster: Cluster, signal: AbortSignal): Promise<PushedEntries> {
  try {
    const pushes = await listAll(cluster, vaultPushKind, signal);
    return { entries: pushes.flatMap(entriesOfPush), isHidden: false };
  } catch (error) {
    if (!isKubeError(error, "Forbidden")) throw error;
    return { entries: [], isHidden: true };
  }
}

/**
 * Returns the entries that no resource refers to. Resources whose status does not show all their
 * entries may refer to some of them: `doubts` has their number. A cluster-scoped resource refers to
 * every name that its rules match: its status shows the ones of a single namespace.
 */
export function unusedEntries(
  { resources, clusterWide }: Pick<Usage, "resources" | "clusterWide">,
  listed: readonly ListedEntry[],
  pushed: readonly string[] = [],
): { readonly entries: readonly ListedEntry[]; readonly doubts: number } {
  const ofNamespaces = resources.filter(({ kind }) => !fansOut(kind));
  const all = [...ofNamespaces, ...clusterWide];
  const used = new Set([
    ...pushed,
    ...all.flatMap(({ kind, entries }) =>
      entries.map(({ entry }) => `${entriesOf(kind)} ${entry}`),
    ),
  ]);
  const isFound = ({ kind, name }: ListedEntry): boolean =>
    clusterWide.some(
      (one) => entriesOf(one.kind) === kind && one.finds.some((find) => matchesName(find, name)),
    );
  return {
    entries: listed.filter((one) => !used.has(`${one.kind} ${one.name}`) && !isFound(one)),
    doubts: ofNamespaces.filter(({ isCurrent }) => !isCurrent).length,
  };
}

/** Returns the account's own entries, by name. Reads no value. */
async function ownEntries(account: string): Promise<ListedEntry[]> {
  const { VaultClient } = await import("../../../protocol/client/vault-client.ts");
  const { listSecrets } = await import("../../../protocol/client/find-secret.ts");
  const { listFile } = await import("../../../protocol/operations/files.ts");
  const client = await VaultClient.open(account);
  const own = canonicalEmail(client.email);
  const [secrets, { files }] = [await listSecrets(client), await client.call(listFile, {})];
  const entryOf = (kind: ListedEntry["kind"], name: string, latest: number, at: unknown) => {
    return { kind, name, latest, createdAt: formatTimestamp(readTimestamp(at)) };
  };
  return [
    ...secrets
      .filter(({ owner }) => owner === own)
      .map((one) => entryOf("secret", one.key_name, one.key_version, one.created_at)),
    ...files.map((one) => entryOf("file", one.filename, one.version, one.created_at)),
  ];
}

/** Returns what may refer to entries, and is not seen; nothing if all is. */
const hiddenUsers = ({ hidden }: Usage, { isHidden }: PushedEntries): string =>
  [
    ...hidden.filter((plural) => plural !== NAMESPACES.plural),
    ...(isHidden ? [vaultPushKind.plural] : []),
  ].join(" and ");

/**
 * Prints the entries of the login's account that no resource refers to.
 * @throws Error for all namespaces, if the user may not list all that refers to entries
 */
export async function printUnusedEntries(
  usage: Usage,
  pushed: PushedEntries,
  { account, output, allNamespaces }: AccountFlags & FormatFlags & ClusterFlags,
): Promise<void> {
  const unread = hiddenUsers(usage, pushed);
  if (unread !== "" && allNamespaces === true)
    throw new Error(
      `which entries are unused is not known, because you may not list ${unread}: request the permission to list them`,
    );
  if (unread !== "")
    process.stderr.write(`${unread} may refer to some of them: you may not list these\n`);
  const { entries, doubts } = unusedEntries(usage, await ownEntries(account), pushed.entries);
  if (output === "table") {
    const rows = entries.map(({ kind, name, latest, createdAt = "-" }) => [
      kind,
      name,
      `${latest}`,
      createdAt,
    ]);
    process.stdout.write(formatTable(["KIND", "ENTRY", "VERSION", "CREATED"], rows));
  } else process.stdout.write(formatObject({ entries, doubts }, output));
  if (doubts > 0)
    process.stderr.write(
      `${doubts} resources may refer to some of them: their statuses do not show all entries of the current spec\n`,
    );
}
