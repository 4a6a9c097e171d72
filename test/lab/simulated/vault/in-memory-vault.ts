import { createHash } from "node:crypto";
import type { Clock } from "../../../../src/lib/clock.ts";
import type { Operation } from "../../../../src/protocol/operation-paths.ts";
import { type Scope, unlimitedScope, formatScope } from "../../../../src/protocol/scope.ts";
import { Rejection, rejected } from "./rejection.ts";
import { type Caller, VaultAccounts } from "./vault-accounts.ts";
import { type VaultBackup, VaultContent } from "./vault-content.ts";

/** A request as the vault sees it. */
export interface InMemoryRequest {
  readonly operation: Operation;
  readonly body: Readonly<Record<string, unknown>>;
  readonly token?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly upload?: { readonly filename: string; readonly bytes: Uint8Array } | undefined;
}

export interface InMemoryResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

const scopeTexts = new WeakMap<Scope, string>();

/** Returns the text of a scope, once for each token: a client sends many lists with one. */
function scopeKey(scope: Scope): string {
  let text = scopeTexts.get(scope);
  if (text === undefined) scopeTexts.set(scope, (text = formatScope(scope)));
  return text;
}

interface CachedList {
  readonly revision: number;
  readonly until: number;
  readonly etag: string;
  readonly body: Uint8Array;
}

/**
 * A vault that stores everything in memory and follows docs/design/vault-contract.md, under any
 * clock. Not modeled: teams, users who sign up, limits, rate limits, metadata changes without a new
 * version.
 */
export class InMemoryVault {
  /** Audience of the tokens of ServiceAccounts; `undefined`: there is no such operation. */
  audience: string | undefined;
  readonly #clock: Clock;
  readonly #accounts: VaultAccounts;
  readonly #content: VaultContent;
  readonly #lists = new Map<string, CachedList>();
  readonly #watchers = new Set<() => void>();
  /** Number of changes so far. */
  #revision = 0;
  /** The next change after a revision. */
  #computed = { revision: -1, at: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#accounts = new VaultAccounts(clock);
    this.#content = new VaultContent(clock);
  }

  /** Adds a user, or changes the password. */
  setPassword(email: string, password: string): void {
    this.#accounts.setPassword(email, password);
  }

  /** Lets a ServiceAccount log in to an account with the scope, or not any more. */
  setIdentity(subject: string, email: string | undefined, scope = unlimitedScope): void {
    const identity = email === undefined ? undefined : { email, scope: formatScope(scope) };
    this.#accounts.setIdentity(subject, identity);
  }

  revoke(email: string, options: { readonly refresh: boolean }): void {
    this.#accounts.revoke(email, options);
    this.#changed();
  }

  backup(): VaultBackup {
    return this.#content.backup();
  }

  restore(backup: VaultBackup): void {
    this.#content.restore(backup);
    this.#changed();
  }

  bytesOf(...args: Parameters<VaultContent["bytesOf"]>): Uint8Array | undefined {
    return this.#content.bytesOf(...args);
  }

  upload(email: string, filename: string, bytes: Uint8Array): void {
    this.#content.upload({ email, scope: unlimitedScope }, filename, bytes);
    this.#changed();
  }

  /** Sets the time, in milliseconds since the epoch, at which a secret is removed. */
  setDeadline(owner: string, name: string, deleteAt: number): void {
    this.#content.setDeadline(owner, name, deleteAt);
    this.#changed();
  }

  /** Carries out an operation as a user with an unlimited scope. @throws Rejection */
  act(email: string, operation: Operation, body: Readonly<Record<string, unknown>>): object {
    return this.#perform({ email, scope: unlimitedScope }, operation, body);
  }

  /** Calls `listener` after each change, until the result is disposed. */
  onChange(listener: () => void): Disposable {
    this.#watchers.add(listener);
    return { [Symbol.dispose]: () => void this.#watchers.delete(listener) };
  }

  /** Time in milliseconds until a list changes without a request. */
  get nextChangeIn(): number {
    return this.#nextChange - this.#clock.now();
  }

  respond(request: InMemoryRequest): InMemoryResponse {
    try {
      return this.#respond(request);
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      return json({ error: { code: error.code, message: error.code } }, {}, error.status);
    }
  }

  #respond({ operation, body, token, ifNoneMatch, upload }: InMemoryRequest): InMemoryResponse {
    if (operation === "generate_access_token") return json(this.#accounts.logIn(body));
    if (operation === "exchange_identity_token") {
      if (this.audience === undefined) throw rejected("not_found");
      return json(this.#accounts.exchange(body, this.audience));
    }
    if (operation === "refresh_token") return json(this.#accounts.refresh(body));
    const caller = this.#accounts.authenticate(token, body["email"]);
    if (operation === "list_no_dup" || operation === "list_file") {
      const { etag, body: list } = this.#list(caller, operation);
      if (ifNoneMatch === etag) return { status: 304, headers: { etag }, body: new Uint8Array() };
      return { status: 200, headers: { etag }, body: list };
    }
    if (operation === "download_file") {
      const { bytes, version } = this.#content.download(caller, body);
      const etag = `"${createHash("sha256").update(bytes).digest("hex")}"`;
      return { status: 200, headers: { "x-file-version": `${version}`, etag }, body: bytes };
    }
    if (operation === "protect_file") {
      if (upload === undefined) throw rejected("invalid_request");
      const uploaded = this.#content.upload(caller, upload.filename, upload.bytes);
      this.#changed();
      return json(uploaded);
    }
    return json(this.#perform(caller, operation, body));
  }

  #perform(caller: Caller, operation: Operation, body: Readonly<Record<string, unknown>>): object {
    const content = this.#content;
    switch (operation) {
      case "expose":
      case "version_expose":
        return content.expose(caller, body, "own");
      case "expose_link":
      case "version_expose_link":
        return content.expose(caller, body, "link");
      case "list_no_dup":
        return content.list(caller);
      case "list_file":
        return content.listFiles(caller);
      default:
    }
    const result = this.#change(caller, operation, body);
    this.#changed();
    return result;
  }

  #change(caller: Caller, operation: Operation, body: Readonly<Record<string, unknown>>): object {
    const content = this.#content;
    switch (operation) {
      case "protect":
        return content.protect(caller, body);
      case "protect_link":
        return content.protectLink(caller, body);
      case "version_delete":
        return content.deleteVersion(caller, body);
      case "delete":
        return content.delete(caller, body);
      case "share":
        return content.share(caller, body);
      case "unshare":
        return content.unshare(caller, body);
      case "delete_file":
        return content.deleteFile(caller, body);
      default:
        throw rejected("invalid_request");
    }
  }

  /** Returns a list, from the cache while nothing has changed. */
  #list(caller: Caller, operation: "list_no_dup" | "list_file"): CachedList {
    const key = `${operation}\n${caller.email}\n${scopeKey(caller.scope)}`;
    const cached = this.#lists.get(key);
    if (cached?.revision === this.#revision && this.#clock.now() < cached.until) return cached;
    const text = JSON.stringify(
      operation === "list_file" ? this.#content.listFiles(caller) : this.#content.list(caller),
    );
    const etag = `W/"${createHash("sha1").update(text).digest("base64url")}"`;
    const list = {
      revision: this.#revision,
      until: this.#nextChange,
      etag,
      body: Buffer.from(text),
    };
    this.#lists.set(key, list);
    return list;
  }

  /** Time of the next change of a list that no request causes; each held list asks for it. */
  get #nextChange(): number {
    const { revision, at } = this.#computed;
    if (revision !== this.#revision || at <= this.#clock.now())
      this.#computed = { revision: this.#revision, at: this.#content.nextChange };
    return this.#computed.at;
  }

  #changed(): void {
    this.#revision += 1;
    for (const listener of this.#watchers) listener();
  }
}

function json(
  value: object,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): InMemoryResponse {
  return { status, headers, body: Buffer.from(JSON.stringify(value)) };
}
