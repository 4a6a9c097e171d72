import type { AccountFlags, FormatFlags } from "../../../command-line/options.ts";
import { formatObject } from "../../../command-line/format-object.ts";
import { formatTable } from "../../../command-line/table.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { readTimestamp } from "../../../protocol/read-timestamp.ts";
import { formatTimestamp } from "../../sync/timestamp.ts";
import type { Usage } from "./read-usage.ts";

/** An entry of the vault account. */
interface ListedEntry {
  readonly kind: "secret" | "file";
  readonly name: string;
  readonly latest: number;
  /** Time of the latest version, RFC 3339. */
  readonly createdAt: string | undefined;
}

/**
 * Returns the entries that no resource refers to. Resources whose status does not show all their
 * entries may refer to some of them: `doubts` has their number.
 */
export function unusedEntries(
  { resources }: Pick<Usage, "resources">,
  listed: readonly ListedEntry[],
): { readonly entries: readonly ListedEntry[]; readonly doubts: number } {
  const used = new Set(
    resources.flatMap(({ kind, entries }) =>
      entries.map(({ entry }) => `${kind === "VaultFile" ? "file" : "secret"} ${entry}`),
    ),
  );
  return {
    entries: listed.filter(({ kind, name }) => !used.has(`${kind} ${name}`)),
    doubts: resources.filter(({ isCurrent }) => !isCurrent).length,
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

/** Prints the entries of the login's account that no resource refers to. */
export async function printUnusedEntries(
  usage: Usage,
  { account, output }: AccountFlags & FormatFlags,
): Promise<void> {
  const { entries, doubts } = unusedEntries(usage, await ownEntries(account));
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
