import { type ConnectionRef, connectionKey } from "../../api/connection-key.ts";
import type { StoreChange } from "../../kube/cache/object-store.ts";
import type { Watched } from "../../kube/cache/filtered-view.ts";
import { keyOf, type KubeObject } from "../../kube/resource.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { GroupIndex, type GroupNames } from "../../lib/groups.ts";
import { matchesPattern, patternReference } from "../../vault-client/pattern.ts";
import { settingsOf } from "../../connection/connection-settings.ts";
import { parseConnection } from "../../connection/parse-connection.ts";
import type { OpenConnection } from "../connection/connection-state.ts";
import type { SourceKind } from "../sync/source-kind.ts";
import {
  entriesOf,
  parseSyncKey,
  SYNC_KINDS,
  type SyncKind,
  syncKey,
} from "../../sync/sync-key.ts";
import { readPushStatus } from "../../push/push-status.ts";
import { entryOf, parsePush, type PushItem, type PushResource } from "../../push/push-resource.ts";
import { withoutTrailingSlashes } from "../../../lib/without-trailing-slashes.ts";

/** The resources that have targets, of the whole cluster. */
type Readers = Readonly<Record<SyncKind, Watched<KubeObject>>>;

/** The other custom resources of the whole cluster: a rival may belong to another shard. */
export interface ClusterResources {
  readonly connections: Watched<KubeObject>;
  /** `undefined` if the operator serves some namespaces only. */
  readonly clusterConnections?: Watched<KubeObject> | undefined;
  readonly pushes: Watched<KubeObject>;
  /** Reports whether all namespaces that the operator serves are listed and watched. */
  readonly isListed: () => boolean;
  /** Reports whether the API server denies the lists of all others. */
  readonly isListedOrDenied: () => boolean;
}

/** A vault and an account, as a connection names them. */
interface VaultAccount {
  readonly url: string;
  readonly account: string;
  /** Its `vaultId`, where VaultPushes without a connection count by what their status shows. */
  readonly id?: string;
  /** The accounts whose shared secrets the connection pushes to. */
  readonly trustedOwners?: readonly string[] | undefined;
}

function vaultAccount(url: string, account: string): VaultAccount {
  return { url: withoutTrailingSlashes(new URL(url).href), account: account.toLowerCase() };
}

const entryName = ({ kind, name }: Pick<PushItem, "kind" | "name">): string => `${kind}\n${name}`;

type Group = "entry" | "secret" | "target";

function pushNames(resource: PushResource | undefined): GroupNames<Group> {
  if (resource === undefined) return [];
  const { namespace, secret, items } = resource;
  return [
    ["secret", `${namespace}/${secret}`],
    ...items.map((item) => ["entry", entryName(item)] as const),
  ];
}

/**
 * Finds the resources of the cluster that contradict a VaultPush: readers that write what it pushes
 * into the same Secret (an endless loop), and older VaultPushes to the same entry.
 */
export class PushRivals {
  readonly #cluster: ClusterResources;
  readonly #readers: Readers;
  readonly #sources: Readonly<Record<SyncKind, SourceKind>>;
  /**
   * Keys of the VaultPushes by entry and by Secret, and of the readers by target, each
   * `<kind>/<namespace>/<name>`.
   */
  readonly #index = new GroupIndex<Group>();
  /** The names of each of them in the index. */
  readonly #names = new Map<string, GroupNames<Group>>();
  /** Readers are indexed from the first VaultPush on: most clusters have none. */
  #hasPushes = false;

  constructor(
    cluster: ClusterResources,
    readers: Readers,
    sources: Readonly<Record<SyncKind, SourceKind>>,
  ) {
    this.#cluster = cluster;
    this.#readers = readers;
    this.#sources = sources;
  }

  /**
   * Updates the index. Returns the keys of the VaultPushes that share an entry with the changed
   * one, before or after.
   */
  pushChanged({ key, ...change }: StoreChange<KubeObject>): ReadonlySet<string> {
    if (!this.#hasPushes) this.#indexReaders();
    const affected = this.#sharing(key);
    const parsed = "now" in change ? parsePush(change.now) : undefined;
    const resource = parsed?.ok === true ? parsed.resource : undefined;
    this.#replace(key, pushNames(resource));
    return new Set([...affected, ...this.#sharing(key)]);
  }

  /**
   * Updates the index. Returns the keys of the VaultPushes whose Secret is the target of the
   * changed resource, before or after.
   */
  readerChanged(kind: SyncKind, { key, ...change }: StoreChange<KubeObject>): ReadonlySet<string> {
    if (!this.#hasPushes) return new Set();
    const reader = syncKey(kind, key);
    const before = this.#namesOf(reader, "target");
    this.#indexReader(kind, key, "now" in change ? change.now : undefined);
    const targets = new Set([...before, ...this.#namesOf(reader, "target")]);
    return new Set([...targets].flatMap((one) => [...this.ofSecret(one)]));
  }

  /** Returns the keys of the VaultPushes of a Secret `namespace/name`. */
  ofSecret(secret: string): ReadonlySet<string> {
    return this.#index.get("secret", secret);
  }

  /**
   * Returns why this key must not be pushed; `undefined` if no other resource contradicts it.
   *
   * @param owner the owner of the entry; `undefined`: as far as the status shows it
   */
  problemOf(
    resource: PushResource,
    object: KubeObject,
    item: PushItem,
    owner: string | undefined,
  ): ReadyCondition | undefined {
    const vault = this.#vaultOf(resource.connection, resource.namespace);
    if (vault === undefined) return undefined;
    const reader = this.#readerOf(resource, item, vault);
    if (reader !== undefined) {
      const message = `${reader} reads the ${entryOf(item)} into the Secret ${resource.secret}, which is pushed to it: remove one of the two`;
      return notReady("PushLoop", message);
    }
    const older = this.#olderThan(object, item, vault, owner);
    if (older === undefined) return undefined;
    const isNear = older.metadata.namespace === resource.namespace;
    // A user of one namespace must not learn names of another one.
    const name = isNear
      ? `the VaultPush ${older.metadata.name}`
      : "a VaultPush of another namespace";
    return notReady(
      "PushConflict",
      `${name} is older and pushes to the ${entryOf(item)} of this vault: remove one of the two`,
    );
  }

  /**
   * Returns why other VaultPushes to the entry of this item may be unknown; `undefined` if all are
   * known. A namespace that must not be listed does not delay the creation of entries in the rest:
   * there is nothing to take over.
   */
  unknownRival(item: PushItem, isCreation = false): string | undefined {
    const { isListed, isListedOrDenied } = this.#cluster;
    // A user of one namespace must not learn names of another one.
    return isListed() || (isCreation && isListedOrDenied())
      ? undefined
      : `not all namespaces that the operator serves are listed, for lack of permissions or not yet, as its log says: an older VaultPush to the ${entryOf(item)} may be in one of them`;
  }

  /**
   * Reports whether another VaultPush, older or not, pushes to the entry that the account has for
   * this item, or pushes to it from now on. The connections of both may be deleted already.
   *
   * @param isReceived other accounts may have received the entry: one that trusts its creator
   * pushes to it
   */
  isShared(
    { facts, account, vault: id }: Pick<OpenConnection, "facts" | "account" | "vault">,
    object: KubeObject,
    item: PushItem,
    isReceived: boolean,
  ): boolean {
    const vault = { ...vaultAccount(facts.url, account), id };
    const isOwn = (owner: string, trusted: readonly string[]): boolean =>
      owner === vault.account || (isReceived && trusted.includes(vault.account));
    return [...this.#rivalsOf(object, item, vault, isOwn)].some(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  }

  #indexReaders(): void {
    this.#hasPushes = true;
    for (const kind of SYNC_KINDS)
      for (const [key, object] of this.#readers[kind].store.entries())
        this.#indexReader(kind, key, object);
  }

  #indexReader(kind: SyncKind, key: string, object: KubeObject | undefined): void {
    const parsed = object && this.#sources[kind].parse(object);
    const isRead = parsed?.ok === true && parsed.resource.target.kind === "Secret";
    const target = isRead && `${parsed.resource.namespace}/${parsed.resource.target.name}`;
    this.#replace(syncKey(kind, key), target === false ? [] : [["target", target]]);
  }

  #replace(key: string, now: GroupNames<Group>): void {
    this.#index.replace(key, this.#names.get(key) ?? [], now);
    if (now.length === 0) this.#names.delete(key);
    else this.#names.set(key, now);
  }

  #namesOf(key: string, group: Group): string[] {
    return (this.#names.get(key) ?? []).flatMap(([of, name]) => (of === group ? [name] : []));
  }

  #sharing(key: string): Set<string> {
    const rivals = this.#namesOf(key, "entry").flatMap((entry) => [
      ...this.#index.get("entry", entry),
    ]);
    return new Set(rivals.filter((rival) => rival !== key));
  }

  /** Any account of the vault counts: if it has received the secret, it reads the same entry. */
  #readerOf(
    { namespace, secret }: PushResource,
    item: PushItem,
    { url }: VaultAccount,
  ): string | undefined {
    for (const reader of this.#index.get("target", `${namespace}/${secret}`)) {
      const { kind, objectKey } = parseSyncKey(reader);
      const object = this.#readers[kind].store.get(objectKey);
      if (object === undefined || entriesOf(kind) !== item.kind) continue;
      const { resource } = this.#sources[kind].parse(object);
      const reads =
        resource.items.some(({ source }) => source === item.name) || findsName(resource, item.name);
      if (reads && this.#vaultOf(resource.connection, namespace)?.url === url)
        return `${kind} ${resource.name}`;
    }
    return undefined;
  }

  #olderThan(
    object: KubeObject,
    item: PushItem,
    vault: VaultAccount,
    owner: string | undefined,
  ): KubeObject | undefined {
    const of = owner?.toLowerCase() ?? ownerOf(object, item, vault);
    for (const rival of this.#rivalsOf(object, item, vault, (theirs) => theirs === of))
      if (isOlder(rival, object)) return rival;
    return undefined;
  }

  /**
   * Returns the other VaultPushes to an entry of this name. One that is being deleted counts: it may
   * still push or delete.
   *
   * @param isSame is called with the owner of their entry, and with the accounts whose secrets they
   * push to if these share one
   */
  *#rivalsOf(
    object: KubeObject,
    item: PushItem,
    vault: VaultAccount,
    isSame: (owner: string, trusted: readonly string[]) => boolean,
  ): Generator<KubeObject> {
    for (const key of this.#index.get("entry", entryName(item))) {
      if (key === keyOf(object.metadata)) continue;
      const other = this.#cluster.pushes.store.get(key);
      const parsed = other && parsePush(other);
      if (parsed?.ok !== true || other === undefined) continue;
      const { connection, namespace, items } = parsed.resource;
      const theirs = this.#vaultOf(connection, namespace) ?? shownVault(other, vault);
      const rival = items.find((each) => entryName(each) === entryName(item));
      if (
        theirs?.url === vault.url &&
        rival !== undefined &&
        isSame(ownerOf(other, rival, theirs), trustedBy(rival, theirs))
      )
        yield other;
    }
  }

  #vaultOf(connection: ConnectionRef, namespace: string): VaultAccount | undefined {
    const { connections, clusterConnections } = this.#cluster;
    const watched = connection.kind === "VaultConnection" ? connections : clusterConnections;
    const object = watched?.store.get(connectionKey(connection, namespace));
    const parsed = object && parseConnection(object);
    if (parsed?.ok !== true) return undefined;
    const { email, trustedOwners } = parsed.spec;
    return { ...vaultAccount(settingsOf(parsed.spec).url, email), trustedOwners };
  }
}

/** Returns the vault if it is the one that a VaultPush has pushed to, as its status shows. */
const shownVault = ({ status }: KubeObject, vault: VaultAccount): VaultAccount | undefined =>
  vault.id !== undefined && readPushStatus(status).vault === vault.id ? vault : undefined;

/** Reports whether a rule may find the name, whatever its metadata: that can change at any time. */
const findsName = ({ finds }: SyncResource, name: string): boolean =>
  finds.some(({ pattern }) => matchesPattern(patternReference(pattern), name));

/**
 * Returns the owner of the entry that a key is pushed to. Without one in the spec, it is the account
 * or a trusted owner, as the status shows.
 */
function ownerOf(
  { status }: KubeObject,
  { kind, name, owner }: PushItem,
  { account }: VaultAccount,
): string {
  if (owner !== undefined || kind === "file") return owner ?? account;
  const shown = readPushStatus(status).items?.find(({ key }) => key === name);
  return shown?.owner?.toLowerCase() ?? account;
}

/** Returns the other accounts to whose secrets a key is pushed, if they share one. */
const trustedBy = (
  { kind, owner }: PushItem,
  { trustedOwners = [] }: VaultAccount,
): readonly string[] =>
  kind === "file" || owner !== undefined ? [] : trustedOwners.map((each) => each.toLowerCase());

/**
 * Orders resources by age, and resources of the same second by key: every process sees the same
 * order.
 */
function isOlder({ metadata: one }: KubeObject, { metadata: other }: KubeObject): boolean {
  const [a, b] = [one.creationTimestamp ?? "", other.creationTimestamp ?? ""];
  return a === b ? keyOf(one) < keyOf(other) : a < b;
}
