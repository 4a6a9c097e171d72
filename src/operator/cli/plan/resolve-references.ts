import { canonicalEmail } from "../../../protocol/email-address.ts";
import { listFile } from "../../../protocol/operations/files.ts";
import { versionListForLink } from "../../../protocol/operations/shared-secrets.ts";
import { versionList } from "../../../protocol/operations/secrets.ts";
import { readTimestamp } from "../../../protocol/read-timestamp.ts";
import type { FileRecord, SecretRecord, VersionRecord } from "../../../protocol/responses.ts";
import { nearNames } from "../../lib/near-names.ts";
import {
  hasOwner,
  isOwn,
  isTrusted,
  isUntrusted,
  type Trust,
  trustOf,
} from "../../api/received-secrets.ts";
import {
  claimedKeys,
  findItems,
  foundName,
  type FoundName,
  hasMetadata,
  matchesName,
  unfound,
} from "../../sync/find-items.ts";
import type { NamespaceAccess } from "../../sync/namespace-access.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";
import type { Candidate, Remembered, Resolution } from "../../sync/resolution.ts";
import { resolveItem } from "../../sync/resolve.ts";
import { resolvePrevious } from "../../sync/resolve-previous.ts";
import { entriesOf } from "../../sync/sync-key.ts";
import type { Find, SyncItem, SyncResource } from "../../sync/sync-resource.ts";
import { type SyncedKey, vaultId } from "../../sync/target.ts";
import type { VaultClient } from "../../../protocol/client/vault-client.ts";
import { listSecrets } from "../../../protocol/client/find-secret.ts";
import type { PlannedConnection } from "./planned-resource.ts";
import { withoutTrailingSlashes } from "../../../lib/without-trailing-slashes.ts";

/**
 * A resource with what its rules find, and the entry and version that each of its items refers to.
 */
export interface ResolvedResource {
  readonly resource: SyncResource;
  readonly resolutions: readonly Resolution[];
}

/**
 * The fields of a candidate that a plan does not depend on: it compares one vault, and reads no
 * value.
 */
export const unread = {
  vault: "",
  expiresAt: undefined,
  deleteAt: undefined,
  read: () => Promise.reject(new Error("a plan reads no value")),
} as const satisfies Partial<Candidate>;

/** Facts about a target from earlier lists. */
export interface Recall {
  readonly now: number;
  /** Returns what is known of an item. */
  readonly item: (item: SyncItem) => Partial<Remembered> & { readonly owner?: string | undefined };
  /** Origins of the bytes of the target, by item. */
  readonly synced: ReadonlyMap<string, SyncedKey>;
}

const NOTHING: Recall = { now: 0, item: () => ({}), synced: new Map() };

/** Reads the bytes of one version of an entry. */
export interface EntryReader {
  secret(record: SecretRecord): Candidate["read"];
  file(record: FileRecord): Candidate["read"];
}

const noReader: EntryReader = { secret: () => unread.read, file: () => unread.read };

/**
 * Resolves references against the lists of the vault, as the account of the login sees them. Reads
 * no value; without a reader, what it returns reads none either.
 */
export class References {
  /** `vaultId` of the vault and account of the login. */
  readonly vault: string;
  readonly #client: VaultClient;
  readonly #reader: EntryReader;
  #secrets: Promise<readonly SecretRecord[]> | undefined;
  #files: Promise<readonly FileRecord[]> | undefined;
  readonly #versionsOf = new Map<SecretRecord, readonly VersionRecord[]>();

  constructor(client: VaultClient, reader: EntryReader = noReader) {
    this.vault = vaultId(client.url, client.email);
    this.#client = client;
    this.#reader = reader;
  }

  /** Reports whether the login is for the vault and account of a connection. */
  isOf({ spec }: PlannedConnection): boolean {
    const { url, email } = this.#client;
    return (
      withoutTrailingSlashes(spec.url) === url &&
      canonicalEmail(spec.email) === canonicalEmail(email)
    );
  }

  /**
   * Resolves the items of a resource; the rules find what the namespace may read. Returns the
   * condition instead if they find too much. Without a recall, it has no target yet.
   */
  async resolve(
    resource: SyncResource,
    { spec }: PlannedConnection,
    access: NamespaceAccess,
    recall = NOTHING,
  ): Promise<ResolvedResource | ReadyCondition> {
    const trust = trustOf(spec);
    const isSecret = entriesOf(resource.kind) === "secret";
    const secrets = isSecret ? await (this.#secrets ??= listSecrets(this.#client)) : [];
    const files = isSecret
      ? []
      : await (this.#files ??= this.#client.call(listFile, {}).then((list) => list.files));
    const isReadable = (name: string): boolean =>
      typeof access !== "function" || access(isSecret ? "secret" : "file", name);
    const names = (find: Find): FoundName[] =>
      isSecret ? secretNames(secrets, find, trust) : fileNames(files, find);
    const listed = (
      isSecret ? secrets.map(({ key_name }) => key_name) : files.map(({ filename }) => filename)
    ).filter(isReadable);
    const known = new Set(listed);
    const found = findItems(resource, {
      now: (find) => names(find).filter(({ name }) => isReadable(name)),
      earlier: (find) => claimedKeys(find, recall.synced, (name) => known.has(name)),
      served: (key) => foundName(recall.synced.get(key)),
    });
    if (found.excess !== undefined) return found.excess;
    const missing = found.items.map(({ source }) => source).filter((name) => !known.has(name));
    const near = nearNames(missing, listed);
    const expanded = { ...resource, items: found.items };
    const resolved = await Promise.all(
      found.items.map(async (item) => {
        const candidates = isSecret
          ? await this.#secretCandidates(secrets, item, trust)
          : this.#fileCandidates(files, item);
        const { owner, ...earlier } = recall.item(item);
        const remembered = {
          synced: undefined,
          deleteAt: undefined,
          missingSince: recall.now,
          near: near.get(item.source),
          ...earlier,
          ...(isSecret && ownership(secrets, item, owner)),
          list: `the list of ${this.#client.email}`,
        };
        return resolveItem(expanded, item, candidates, remembered, recall.now);
      }),
    );
    const resolutions = resolvePrevious(resolved, ({ id }) =>
      recall.synced.has(id) ? "of-source" : "none",
    );
    const ruleOf = ({ id }: SyncItem): Find | undefined =>
      resource.finds.find((find) => find.id === id);
    const rest = unfound(found).map((one) =>
      one.state === "unmatched"
        ? { ...one, strangers: strangersOf(secrets, ruleOf(one.item), trust) }
        : one,
    );
    return { resource: expanded, resolutions: [...resolutions, ...rest] };
  }

  #secretCandidates(
    secrets: readonly SecretRecord[],
    item: SyncItem,
    trust: Trust,
  ): Promise<Candidate[]> {
    const named = secrets.filter(
      (record) => record.key_name === item.source && hasMetadata(record.metadata, item.foundBy),
    );
    return Promise.all(
      named.map(async (record) => ({
        ...unread,
        vault: this.vault,
        read: this.#reader.secret(record),
        deleteAt: readTimestamp(record.delete_at),
        createdAt: creationTimes([{ version: record.key_version, created_at: record.created_at }]),
        owner: record.owner,
        own: isOwn(record, trust),
        untrusted: isUntrusted(record, item, trust),
        latest: record.key_version,
        // The list does not say which earlier versions exist.
        sizes:
          item.version === "latest" || item.version === record.key_version
            ? undefined
            : new Map((await this.#versions(record)).map(({ key_version }) => [key_version, 0])),
      })),
    );
  }

  #fileCandidates(files: readonly FileRecord[], { source }: SyncItem): Candidate[] {
    return files
      .filter(({ filename }) => filename === source)
      .map((record) => ({
        ...unread,
        vault: this.vault,
        read: this.#reader.file(record),
        createdAt: creationTimes(record.versions),
        owner: undefined,
        own: true,
        latest: record.version,
        sizes: new Map(record.versions.map((one) => [one.version, one.size])),
      }));
  }

  /** Returns who wrote a version of a listed secret, if the vault says it. */
  async authorOf(
    name: string,
    owner: string | undefined,
    version: number,
  ): Promise<string | undefined> {
    const record = (await this.#secrets)?.find(
      (one) => one.key_name === name && hasOwner(one, owner),
    );
    const versions = record && (await this.#versions(record));
    return versions?.find(({ key_version }) => key_version === version)?.created_by;
  }

  /** Returns the versions of a secret, whose sizes are not listed. */
  async #versions(record: SecretRecord): Promise<readonly VersionRecord[]> {
    const { key_name, owner, shared } = record;
    const known = this.#versionsOf.get(record);
    if (known !== undefined) return known;
    const { versions } = await (shared
      ? this.#client.call(versionListForLink, { key_name, owner })
      : this.#client.call(versionList, { key_name }));
    this.#versionsOf.set(record, versions);
    return versions;
  }
}

const creationTimes = (
  versions: readonly { readonly version: number; readonly created_at: unknown }[],
): ReadonlyMap<number, number> =>
  new Map(
    versions.flatMap(({ version, created_at }) => {
      const time = readTimestamp(created_at);
      return time === undefined ? [] : [[version, time] as const];
    }),
  );

/**
 * Returns what the list shows of the owner of an item's entry, if the spec names one or the target
 * has bytes of one: another owner's entry of the name does not stand in for it.
 */
function ownership(
  secrets: readonly SecretRecord[],
  { source, owner: requested }: SyncItem,
  served: string | undefined,
): Pick<Remembered, "isGone" | "ofOwner"> {
  const owner = requested ?? served;
  if (owner === undefined) return {};
  const named = secrets.filter(({ key_name }) => key_name === source);
  const isGone = !named.some((record) => hasOwner(record, owner));
  return { isGone, ofOwner: isGone && named.length > 0 ? owner : undefined };
}

function secretNames(secrets: readonly SecretRecord[], find: Find, trust: Trust): FoundName[] {
  const found = new Map<string, FoundName>();
  for (const record of secrets) {
    const name = record.key_name;
    if (
      !matchesName(find, name) ||
      !hasMetadata(record.metadata, find) ||
      !isTrusted(record, trust)
    )
      continue;
    found.set(name, { name, own: isOwn(record, trust) || found.get(name)?.own === true });
  }
  return [...found.values()];
}

/** Returns the creators of secrets that a rule would find if the connection named them. */
function strangersOf(
  secrets: readonly SecretRecord[],
  find: Find | undefined,
  trust: Trust,
): string[] {
  if (find === undefined) return [];
  const matching = secrets.filter(
    (record) => matchesName(find, record.key_name) && hasMetadata(record.metadata, find),
  );
  return [
    ...new Set(matching.filter((record) => !isTrusted(record, trust)).map(({ owner }) => owner)),
  ];
}

const fileNames = (files: readonly FileRecord[], find: Find): FoundName[] =>
  files
    .filter(({ filename }) => matchesName(find, filename))
    .map(({ filename }) => ({ name: filename, own: true }));
