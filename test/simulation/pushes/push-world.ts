import { vaultConnectionKind, vaultPushKind } from "../../../src/operator/api/kinds.ts";
import { keyOf, type KubeObject, SECRETS } from "../../../src/operator/kube/resource.ts";
import type { Change } from "../../lab/simulated/api-server/collection.ts";
import { CANARY } from "../simulated-values.ts";
import { NAMESPACES, Violation, type World } from "../world.ts";
import { EntryJournal, entryKey, type EntryRef, Timeline } from "./entry-journal.ts";
import type { keyChanges } from "./push-commands.ts";
import { type ConnectionSpec, type PushState, pushStateOf } from "./push-specs.ts";

type Data = Readonly<Record<string, string>>;

/** A key of a Secret. */
export interface Source {
  readonly namespace: string;
  readonly secret: string;
  readonly key: string;
}

const shareKey = (ref: EntryRef, to: string): string => `${entryKey(ref)} to ${to}`;

/** Time in milliseconds in which the operator may act on what has changed since it read it. */
const SLACK_MS = 60_000;
/** Time in milliseconds within which the operator follows the file of namespaces. */
const FOLLOWED_MS = 300_000;

/** The simulated world, and everything that its users have done to VaultPushes and entries. */
export class PushWorld {
  readonly world: World;
  readonly namespaces = NAMESPACES;
  readonly journal: EntryJournal;
  /** By `<namespace>/<name>`. */
  readonly pushes: Timeline<PushState>;
  readonly connections: Timeline<ConnectionSpec>;
  readonly secrets: Timeline<Data>;
  /** The permissions of shares, by the entry and the recipient. */
  readonly #shares: Timeline<string>;
  /** The keys that have had these bytes, by the bytes in base64. */
  readonly #sources = new Map<string, Map<string, Source>>();
  readonly #before = new Map<string, string>();
  readonly #deadlines: { readonly key: string; readonly at: number }[] = [];
  #values = 0;
  #listChangedAt = -Infinity;

  constructor(world: World) {
    this.world = world;
    const { clock, server, vaults } = this.world;
    this.journal = new EntryJournal(vaults, clock);
    this.pushes = new Timeline(clock);
    this.connections = new Timeline(clock);
    this.secrets = new Timeline(clock);
    this.#shares = new Timeline(clock);
    server.onCommit((change) => this.#remember(change));
    for (const secret of server.all(SECRETS)) this.#rememberObject(secret.kind, secret, secret);
  }

  /** Throws nothing: a thrown violation would be the response to the operator. */
  report(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.world.violations.push(error);
    }
  }

  /**
   * Returns the time in milliseconds for which a process may act on what is not current any more in
   * a namespace.
   */
  slackMs(user: string, namespace: string): number {
    const { world } = this;
    if (world.mayLag || world.watchDelayMs(namespace) > 0) return Infinity;
    const since = world.replicas.suspendedAt(user, SLACK_MS);
    return SLACK_MS + (since === undefined ? 0 : world.clock.monotonic() - since);
  }

  /** Takes in that a vault removes an entry at a time, in milliseconds since the epoch. */
  expires(ref: EntryRef, at: number): void {
    this.#deadlines.push({ key: entryKey(ref), at });
  }

  hasDeadline(ref: EntryRef): boolean {
    return this.#deadlines.some(({ key }) => key === entryKey(ref));
  }

  hasDeadlineBetween(start: number, end: number): boolean {
    return this.#deadlines.some(({ at }) => at >= start && at <= end);
  }

  /** Takes in that the file of namespaces changes. */
  listChanged(): void {
    this.#listChangedAt = this.world.clock.monotonic();
  }

  /** Reports whether the operator may not have followed the file of namespaces yet. */
  get isListFollowed(): boolean {
    return this.world.clock.monotonic() - this.#listChangedAt > FOLLOWED_MS;
  }

  /** Returns the keys of Secrets that have ever had a value. */
  sourcesOf(base64: string): readonly Source[] {
    return [...(this.#sources.get(base64)?.values() ?? [])];
  }

  setKey(
    { namespace, name }: { readonly namespace: string; readonly name: string },
    key: string,
    change: (typeof keyChanges)[number],
  ): void {
    const { server } = this.world;
    const before = server.find(SECRETS, { namespace, name });
    const data = { ...(before?.data as Data | undefined) };
    const id = `${namespace}/${name}/${key}`;
    const last = data[key];
    if (change === "remove") delete data[key];
    else data[key] = this.#valueOf(change, this.#before.get(id));
    if (last !== undefined && last !== "") this.#before.set(id, last);
    const object = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: before?.metadata ?? { namespace, name },
      type: "Opaque",
      data,
    };
    if (before) server.replace(SECRETS, object);
    else server.create(SECRETS, object);
  }

  /** Writes a version of an entry, as another writer does. */
  writeEntry(ref: EntryRef): void {
    const { vault, owner, kind, name } = ref;
    const bytes = Buffer.from(`${CANARY}-theirs-${(this.#values += 1)}`);
    const vaults = this.world.vaults;
    let version: number;
    if (kind === "file") {
      vaults.vault(vault).upload(owner, name, bytes);
      version = vaults.files(vault, owner).find(({ filename }) => filename === name)!.version;
    } else {
      const own = vaults
        .list(vault, owner)
        .find((one) => one.key_name === name && one.owner === owner);
      const body = { key_name: name, key_value: bytes.toString(), owner };
      const operation = own?.shared === true ? "protect_link" : "protect";
      const { secret } = vaults.vault(vault).act(owner, operation, body) as {
        readonly secret: { readonly key_version: number };
      };
      version = secret.key_version;
    }
    this.journal.wrote(ref, { version, base64: bytes.toString("base64"), by: new Set() });
  }

  /** Deletes an entry, as another writer does. */
  deleteEntry(ref: EntryRef): void {
    const { vault, owner, kind, name } = ref;
    const target = this.world.vaults.vault(vault);
    if (kind === "file") target.act(owner, "delete_file", { filename: name });
    else target.act(owner, "delete", { key_name: name });
    this.gone(ref);
  }

  /** Takes in that an entry was deleted. */
  gone(ref: EntryRef): void {
    this.journal.deleted(ref);
    this.unshared(ref);
  }

  /** Takes in that a secret was shared. */
  shared(ref: EntryRef, to: string, permission: string): void {
    this.#shares.set(shareKey(ref, to), permission);
  }

  /** Takes in that all shares of a secret ended. */
  unshared(ref: EntryRef): void {
    const start = shareKey(ref, "");
    for (const key of this.#shares.keys())
      if (key.startsWith(start)) this.#shares.set(key, undefined);
  }

  /** Reports whether an account may have been able to write a secret of another one for the last `ms`. */
  wasWritable(ref: EntryRef, to: string, ms: number): boolean {
    return this.#shares.throughout(shareKey(ref, to), ms) === "RW";
  }

  #valueOf(change: (typeof keyChanges)[number], before: string | undefined): string {
    if (change === "empty") return "";
    if (change === "back" && before !== undefined) return before;
    const text = Buffer.from(`${CANARY}-${(this.#values += 1)}`);
    const bytes = change === "binary" ? Buffer.concat([Buffer.from([0xff, 0xfe]), text]) : text;
    return bytes.toString("base64");
  }

  #rememberSecret(metadata: KubeObject["metadata"], data: Data | undefined): void {
    const { namespace = "", name: secret } = metadata;
    this.secrets.set(keyOf(metadata), data);
    for (const [key, base64] of Object.entries(data ?? {})) {
      const known = this.#sources.get(base64) ?? new Map<string, Source>();
      this.#sources.set(
        base64,
        known.set(`${namespace}/${secret} ${key}`, { namespace, secret, key }),
      );
    }
  }

  #remember({ resource, before, after }: Change): void {
    this.#rememberObject(resource.kind, (after ?? before)!, after);
  }

  #rememberObject(kind: string, { metadata }: KubeObject, after: KubeObject | undefined): void {
    const key = keyOf(metadata);
    if (kind === SECRETS.kind)
      this.#rememberSecret(metadata, after && ((after.data ?? {}) as Data));
    if (kind === vaultConnectionKind.kind)
      this.connections.set(key, after && (after["spec"] as ConnectionSpec));
    if (kind === vaultPushKind.kind) this.pushes.set(key, after && pushStateOf(after));
  }
}
