import { hasMetadata, isTrustedOwner } from "./invariants/removals.ts";
import type { ConnectionSpec } from "./invariants/spec-history.ts";
import { type Item, readsFiles } from "./invariants/spec-items.ts";
import { vaultAt, type World } from "./world.ts";

/**
 * An item, and the whole value of its source in base64; none if the source is missing, ambiguous or
 * not trusted.
 */
export interface Resolved {
  readonly item: Item;
  readonly base64?: string;
  readonly irregular: boolean;
  readonly isListed?: boolean;
  /** The source is there, without the version that the item requests. */
  readonly lacksVersion?: boolean;
}

/** Returns what an item must be read from. */
export function resolve(
  world: World,
  connection: ConnectionSpec,
  kind: string,
  item: Item,
): Resolved {
  const { vaults } = world;
  const { url, email: account } = connection;
  const vault = vaultAt(url);
  // Whatever was deleted, unshared or restored may have been served before.
  const irregular =
    vaults.hasDeadline(item.source) ||
    [...vaults.irregular].some((id) => id.endsWith(` ${item.source}`));
  const one = { item, irregular };
  if (readsFiles(kind)) {
    const file = vaults.files(vault, account).find(({ filename }) => filename === item.source);
    return { ...one, ...bytesOf(world, vault, "file", account, item, file?.version) };
  }
  const entries = vaults
    .list(vault, account)
    .filter(({ key_name, owner }) => key_name === item.source && (item.owner ?? owner) === owner);
  const trusted = entries.filter((entry) => isTrustedOwner(connection, item, entry.owner));
  const found = trusted.filter((entry) => hasMetadata(entry, item.metadata ?? {}));
  const entry =
    found.find(({ owner }) => owner === account) ?? (found.length === 1 ? found[0] : undefined);
  // The first version has no previous one: an optional key is absent.
  const hasNone = entry !== undefined && numberOf(item, entry.key_version) === 0;
  const isListed = entries.length > 0 && !hasNone;
  // An entry that the rule does not find may have been served before: no other owner replaces it.
  const mayBeReplaced = found.length > 0 && found.length < trusted.length;
  return {
    ...one,
    irregular: irregular || mayBeReplaced,
    ...bytesOf(world, vault, "secret", entry?.owner ?? "", item, entry?.key_version),
    isListed,
  };
}

/** Returns the version of an item; 0 if there is none before the first one. */
function numberOf({ version, leader }: Item, latest: number): number {
  if (version === "previous") return (leader ? numberOf(leader, latest) : latest) - 1;
  return version === "latest" ? latest : version;
}

function bytesOf(
  world: World,
  vault: string,
  kind: "secret" | "file",
  owner: string,
  item: Item,
  latest: number | undefined,
): Pick<Resolved, "base64" | "lacksVersion"> {
  if (latest === undefined) return {};
  const { source } = item;
  const number = numberOf(item, latest);
  if (number === 0) return {};
  const bytes = world.vaults.vault(vault).bytesOf(kind, owner, source, number);
  return bytes ? { base64: Buffer.from(bytes).toString("base64") } : { lacksVersion: true };
}
