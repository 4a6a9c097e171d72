import { createHash } from "node:crypto";
import type { Clock } from "../../../../src/lib/clock.ts";
import { defaultMetadata } from "../../../../src/protocol/metadata.ts";
import { rejected } from "./rejection.ts";
import type { Caller } from "./vault-accounts.ts";
import { scopeReaches } from "../../../../src/protocol/scope.ts";

type Permission = "R" | "W" | "RW";
type Body = Readonly<Record<string, unknown>>;

interface SecretVersion {
  readonly version: number;
  readonly value: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: number;
}

interface Secret {
  readonly name: string;
  readonly owner: string;
  readonly versions: SecretVersion[];
  /** Permissions of the recipients by email. The secret is shared while there is one. */
  readonly shares: Map<string, Permission>;
  lastVersion: number;
  deleteMinutes: number;
  deleteAt: number;
}

interface FileVersion {
  readonly version: number;
  readonly bytes: Uint8Array;
  readonly createdAt: number;
}

interface StoredFile {
  readonly versions: FileVersion[];
  lastVersion: number;
}

/** Everything that a backup contains. */
export interface VaultBackup {
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly files: ReadonlyMap<string, StoredFile>;
}

const DAY_MS = 86_400_000;
const DEFAULT_DELETE_MINUTES = 525_600_000;
const idOf = (owner: string, name: string): string => `${owner}\n${name}`;

/** The secrets and files of an in-memory vault. Callers are authenticated already. */
export class VaultContent {
  readonly #clock: Clock;
  #secrets = new Map<string, Secret>();
  #files = new Map<string, StoredFile>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  backup(): VaultBackup {
    return structuredClone({ secrets: this.#secrets, files: this.#files });
  }

  restore(backup: VaultBackup): void {
    const { secrets, files } = structuredClone(backup);
    this.#secrets = new Map(secrets);
    this.#files = new Map(files);
  }

  /**
   * Returns a version of a secret or file and its bytes; `undefined` if it does not exist. For
   * assertions.
   */
  bytesOf(
    kind: "secret" | "file",
    owner: string,
    name: string,
    version: number,
  ): Uint8Array | undefined {
    if (kind === "file")
      return this.#files.get(idOf(owner, name))?.versions.find((each) => each.version === version)
        ?.bytes;
    const secret = this.#live().find((each) => each.owner === owner && each.name === name);
    const found = secret?.versions.find((each) => each.version === version);
    return found && new TextEncoder().encode(found.value);
  }

  setDeadline(owner: string, name: string, deleteAt: number): void {
    const secret = this.#secrets.get(idOf(owner, name));
    if (secret === undefined) throw new Error(`no secret ${name} of ${owner}`);
    secret.deleteAt = deleteAt;
  }

  list({ email, scope }: Caller): object {
    const secrets = this.#live()
      .filter((secret) => permissionOf(secret, email)?.includes("R") && reaches(scope, secret))
      .sort((a, b) => compare(a.name, b.name) || compare(a.owner, b.owner));
    return { secrets: secrets.map((secret) => this.#record(secret, email)) };
  }

  /** Returns the time of the next change of a list that no request causes. */
  get nextChange(): number {
    const now = this.#clock.now();
    const times = this.#live().flatMap((secret) => [
      secret.deleteAt,
      expiresAt(secret.versions.at(-1)!),
    ]);
    return Math.min(...times.filter((time) => time > now));
  }

  protect({ email, scope }: Caller, body: Body): object {
    const name = String(body["key_name"]);
    const own = this.#accessible(email, name).find(({ owner }) => owner === email);
    if (own && isShared(own)) throw rejected("use_link_operation");
    if (own && !reaches(scope, own)) throw rejected("out_of_scope");
    return this.#add(own ?? this.#create(email, name), email, scope, body);
  }

  protectLink({ email, scope }: Caller, body: Body): object {
    const secret = this.#linked(email, body);
    if (!reaches(scope, secret)) throw rejected("out_of_scope");
    if (permissionOf(secret, email) === "R") throw rejected("forbidden");
    return this.#add(secret, email, scope, { key_value: body["key_value"] });
  }

  expose({ email, scope }: Caller, body: Body, family: "own" | "link"): object {
    const secret = family === "own" ? this.#unshared(email, body) : this.#linked(email, body);
    if (!reaches(scope, secret)) throw rejected("out_of_scope");
    if (permissionOf(secret, email) === "W") throw rejected("forbidden");
    const number = body["key_version"] ?? secret.versions.at(-1)!.version;
    const found = secret.versions.find(({ version }) => version === number);
    if (!found) throw rejected("version_not_found");
    const { version: key_version, value: key_value, metadata } = found;
    return {
      key_name: secret.name,
      key_value,
      key_version,
      metadata,
      owner: secret.owner,
      expired: expiresAt(found) <= this.#clock.now(),
    };
  }

  deleteVersion(caller: Caller, body: Body): object {
    const secret = this.#created(caller, body);
    const at = secret.versions.findIndex(({ version }) => version === body["key_version"]);
    if (at < 0) throw rejected("version_not_found");
    if (secret.versions.length === 1) throw rejected("last_version");
    secret.versions.splice(at, 1);
    return { deleted: { key_name: secret.name, key_version: body["key_version"] } };
  }

  delete(caller: Caller, body: Body): object {
    const { name, owner } = this.#created(caller, body);
    this.#secrets.delete(idOf(owner, name));
    return { deleted: [name] };
  }

  share(caller: Caller, body: Body): object {
    const { name, shares } = this.#created(caller, body);
    const [to, permission] = [String(body["usr_id_to"]), body["permission"] as Permission];
    shares.set(to, permission);
    return { shared: [{ key_name: name, to, permission, state: "active" }] };
  }

  unshare(caller: Caller, body: Body): object {
    const { name, shares } = this.#created(caller, body);
    const unshared = [...shares.keys()].map((from) => ({ key_name: name, from }));
    shares.clear();
    return { unshared };
  }

  listFiles({ email }: Caller): object {
    const files = [...this.#files].flatMap(([id, { versions }]) => {
      const [owner, filename] = id.split("\n");
      const records = versions.map(fileRecord);
      return owner === email ? [{ filename, ...records.at(-1)!, versions: records }] : [];
    });
    return { files: files.sort((a, b) => compare(a.filename!, b.filename!)) };
  }

  upload({ email }: Caller, filename: string, bytes: Uint8Array): object {
    const id = idOf(email, filename);
    const file = this.#files.get(id) ?? { versions: [], lastVersion: 0 };
    this.#files.set(id, file);
    file.lastVersion += 1;
    const version = { version: file.lastVersion, bytes, createdAt: this.#clock.now() };
    file.versions.push(version);
    const { size, sha256 } = fileRecord(version);
    return { files: [{ filename, version: version.version, size, sha256 }] };
  }

  download({ email }: Caller, body: Body): FileVersion {
    const versions = this.#files.get(idOf(email, String(body["filename"])))?.versions;
    if (!versions) throw rejected("file_not_found");
    const number = body["version"] ?? versions.at(-1)!.version;
    const found = versions.find(({ version }) => version === number);
    if (!found) throw rejected("version_not_found");
    return found;
  }

  deleteFile({ email }: Caller, body: Body): object {
    const id = idOf(email, String(body["filename"]));
    const file = this.#files.get(id);
    if (!file) throw rejected("file_not_found");
    this.#files.delete(id);
    return {
      deleted: {
        filename: body["filename"],
        versions: file.versions.map(({ version }) => version),
      },
    };
  }

  #add(secret: Secret, email: string, scope: Caller["scope"], body: Body): object {
    const base = secret.versions.at(-1)?.metadata ?? defaultMetadata;
    const metadata = { ...base, ...(body["metadata"] as object | undefined) };
    if (!scopeReaches(scope, secret.name, metadata)) throw rejected("out_of_scope");
    const { delete_time: minutes } = body;
    const now = this.#clock.now();
    secret.lastVersion += 1;
    secret.versions.push({
      version: secret.lastVersion,
      value: String(body["key_value"]),
      metadata,
      createdAt: now,
    });
    if (minutes !== undefined && minutes !== null) {
      secret.deleteMinutes = Number(minutes);
      secret.deleteAt = now + Number(minutes) * 60_000;
    }
    this.#secrets.set(idOf(secret.owner, secret.name), secret);
    return { secret: this.#record(secret, email) };
  }

  #create(owner: string, name: string): Secret {
    const deleteAt = this.#clock.now() + DEFAULT_DELETE_MINUTES * 60_000;
    return {
      name,
      owner,
      versions: [],
      shares: new Map(),
      lastVersion: 0,
      deleteMinutes: DEFAULT_DELETE_MINUTES,
      deleteAt,
    };
  }

  #live(): Secret[] {
    const now = this.#clock.now();
    for (const [id, { deleteAt }] of this.#secrets) if (deleteAt <= now) this.#secrets.delete(id);
    return [...this.#secrets.values()];
  }

  #accessible(email: string, name: string): Secret[] {
    return this.#live().filter(
      (secret) => secret.name === name && permissionOf(secret, email) !== undefined,
    );
  }

  #unshared(email: string, body: Body): Secret {
    const accessible = this.#accessible(email, String(body["key_name"]));
    const own = accessible.find(({ owner }) => owner === email);
    if (own && !isShared(own)) return own;
    throw rejected(accessible.length > 0 ? "use_link_operation" : "secret_not_found");
  }

  #linked(email: string, body: Body): Secret {
    const owner = body["owner"];
    const asked = this.#accessible(email, String(body["key_name"])).filter(
      (secret) => owner === undefined || secret.owner === owner,
    );
    const [linked, ...others] = asked.filter(isShared);
    if (others.length > 0) throw rejected("ambiguous_name");
    if (linked) return linked;
    throw rejected(asked.length === 0 ? "secret_not_found" : "use_unshared_operation");
  }

  #created({ email, scope }: Caller, body: Body): Secret {
    const accessible = this.#accessible(email, String(body["key_name"]));
    const own = accessible.find(({ owner }) => owner === email);
    const candidates = own ? [own] : accessible;
    if (candidates.length === 0) throw rejected("secret_not_found");
    if (!candidates.some((secret) => reaches(scope, secret))) throw rejected("out_of_scope");
    if (!own) throw rejected("forbidden");
    return own;
  }

  #record(secret: Secret, email: string): object {
    const latest = secret.versions.at(-1)!;
    const createdAt = new Date(latest.createdAt).toISOString();
    return {
      key_name: secret.name,
      key_version: latest.version,
      owner: secret.owner,
      shared: isShared(secret),
      permission: permissionOf(secret, email),
      metadata: latest.metadata,
      delete_time: secret.deleteMinutes,
      created_at: createdAt,
      updated_at: createdAt,
      expires_at: new Date(expiresAt(latest)).toISOString(),
      expired: expiresAt(latest) <= this.#clock.now(),
      delete_at: new Date(secret.deleteAt).toISOString(),
    };
  }
}

const isShared = ({ shares }: Secret): boolean => shares.size > 0;
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function permissionOf({ owner, shares }: Secret, email: string): Permission | undefined {
  return owner === email ? "RW" : shares.get(email);
}

function reaches(scope: Caller["scope"], { name, versions }: Secret): boolean {
  return scopeReaches(scope, name, versions.at(-1)!.metadata);
}

function expiresAt({ metadata, createdAt }: SecretVersion): number {
  return createdAt + Number(metadata["expiration_time"]) * DAY_MS;
}

function fileRecord({ version, bytes, createdAt }: FileVersion) {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { version, size: bytes.byteLength, sha256, created_at: new Date(createdAt).toISOString() };
}
