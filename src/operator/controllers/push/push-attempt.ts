import type { Clock } from "../../../lib/clock.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { type ReadyCondition, notReady } from "../../sync/ready-condition.ts";
import type {
  Snapshot,
  WriteGuard,
  EntryWrite,
  WrittenVersion,
} from "../../vault-client/connection.ts";
import type { OpenConnection } from "../connection/connection-state.ts";
import { retryable } from "../outcome/outcome.ts";
import type { PushBudget } from "./push-budget.ts";
import { type KeyFacts, entryContent, keyFacts } from "../../push/push-content.ts";
import { confirmPush, type PushMemory } from "./push-memory.ts";
import { type PushItem, type PushResource, entryOf, itemId } from "../../push/push-resource.ts";
import type { PushRivals } from "./push-rivals.ts";
import type { PushSource } from "./push-source.ts";
import type { PushItemStatus } from "../../api/vault-push.ts";
import { defined } from "../../lib/defined.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { utf8Text } from "../../lib/utf8-text.ts";
import { formatTimestamp } from "../../sync/timestamp.ts";
import { mayHaveHappened } from "../../vault-client/vault-error.ts";
import { countRepair, repairDelay } from "../outcome/repair-count.ts";
import { decidePush } from "../../push/decide-push.ts";
import {
  isSameVersion,
  type ListedVersion,
  listedSha256,
  listedVersion,
  unlistedVersion,
  type VersionIdentity,
  type WritableEntry,
} from "../../push/listed-entry.ts";
import { type PushOutcome, concernsConnection, pushFailure } from "./push-outcome.ts";

export interface ItemPusherOptions {
  readonly contentKey: Redacted<Uint8Array>;
  /** Closed while another process may lead. */
  readonly guard: WriteGuard | undefined;
  /** Shared by all shards of the process. */
  readonly pushBudget: PushBudget;
  readonly clock: Clock;
}

/** Everything that the push of one key needs. */
export interface PushContext {
  readonly object: KubeObject;
  readonly resource: PushResource;
  readonly memory: PushMemory;
  readonly access: OpenConnection;
  readonly snapshot: Snapshot;
  readonly source: PushSource;
  readonly facts: ReadonlyMap<string, KeyFacts>;
  readonly rivals: Pick<PushRivals, "problemOf" | "unknownRival">;
  /** Compares the bytes of the vault even if its list shows the version that was pushed last. */
  readonly verify: boolean;
  readonly signal: AbortSignal;
}

/** A vault rejects the same push again, until something changes. */
const REJECTED_MS = 10 * 60_000;

/** One attempt to push one key. */
export class PushAttempt {
  readonly #options: ItemPusherOptions;
  readonly #context: PushContext;
  readonly #item: PushItem;
  readonly #entry: WritableEntry;
  readonly #id: string;
  /** HMAC of the entry and the bytes of the key. */
  readonly #content: string;
  readonly #sha256: string;

  constructor(
    options: ItemPusherOptions,
    context: PushContext,
    item: PushItem,
    entry: WritableEntry,
    facts: KeyFacts,
  ) {
    this.#options = options;
    this.#context = context;
    this.#item = item;
    this.#entry = entry;
    this.#id = itemId(item);
    this.#content = this.#contentOf(facts.digest);
    this.#sha256 = facts.sha256;
  }

  async run(): Promise<PushOutcome> {
    const [item, record, listed] = [this.#item, this.#record, this.#listed];
    const facts = { content: this.#content, record, now: this.#options.clock.now() };
    let decision = decidePush({
      ...facts,
      listed: listed && { content: this.#listedContent(listed) },
    });
    if (decision.action === "compare" && listed !== undefined) {
      const failed = await this.#compare(listed);
      if (failed !== undefined) return failed;
      decision = decidePush({ ...facts, listed: { content: this.#listedContent(listed) } });
    }
    switch (decision.action) {
      case "keep":
        if (listed !== undefined) this.#keep(listed);
        this.#confirm(this.#content);
        this.#context.memory.uncertain.delete(this.#id);
        return { item };
      case "removed":
        return { item, problem: this.#removed() };
      case "push":
        return this.#limited(listed, decision.restored);
      case "compare":
        return { item, failure: retryable("Progressing", `${entryOf(item)}: comparing its bytes`) };
    }
  }

  /** The last push, if it was to this entry. */
  get #record(): PushItemStatus | undefined {
    const record = this.#context.memory.records.get(this.#id);
    return record?.owner?.toLowerCase() === this.#entry.owner?.toLowerCase() ? record : undefined;
  }

  get #listed(): ListedVersion | undefined {
    return this.#entry.record && listedVersion(this.#entry.record);
  }

  /** Identifies the entry across all vaults. Connections with different accounts may push to it. */
  get #budgetKey(): string {
    const { facts, account } = this.#context.access;
    const { kind, name } = this.#item;
    return JSON.stringify([facts.url, (this.#entry.owner ?? account).toLowerCase(), kind, name]);
  }

  /** Returns the HMAC of the listed version, as far as its bytes are known. */
  #listedContent(listed: ListedVersion): string | undefined {
    const { memory, verify } = this.#context;
    const record = this.#record;
    // The list is older than the last push, or the entry was recreated: before a write the latest
    // version is read.
    if (record !== undefined && listed.version < record.version) return "";
    if (!verify && record !== undefined && isSameVersion(record, listed)) return record.content;
    const sha256 = listedSha256(this.#entry, listed);
    if (sha256 !== undefined) return sha256 === this.#sha256 ? this.#content : "";
    const compared = memory.compared.get(this.#id);
    return compared !== undefined && isSameVersion(compared, listed)
      ? this.#contentOf(compared.digest)
      : undefined;
  }

  #contentOf(digest: string): string {
    const identity = { vault: this.#context.access.vault, owner: this.#entry.owner };
    return entryContent(this.#options.contentKey, this.#item, identity, digest);
  }

  /** Reads the bytes of the listed version. Returns the outcome if that fails. */
  async #compare({ version, createdAt }: ListedVersion): Promise<PushOutcome | undefined> {
    const { access, memory, resource, signal } = this.#context;
    const [item, entry] = [this.#item, this.#entry];
    if (entry.record === undefined) return undefined;
    try {
      const read = await access.connection.reader(entry.record, resource)(version, signal);
      if (read.version !== version) {
        const message = `${entryOf(item)}: the vault returned version ${read.version} instead of ${version}, which its list shows`;
        return { item, failure: retryable("UnexpectedResponse", message) };
      }
      const { digest } = keyFacts(this.#options.contentKey, read.bytes.reveal());
      memory.compared.set(this.#id, { version, createdAt, digest });
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return { item, failure: pushFailure(error, item, entry), ends: concernsConnection(error) };
    }
  }

  /** Records the version that has the bytes of the key. */
  #keep(listed: ListedVersion): void {
    const record = this.#record;
    const isKnown =
      record !== undefined && isSameVersion(record, listed) && record.content === this.#content;
    const pushedAt = isKnown ? record.pushedAt : undefined;
    this.#store({ ...listed, pushedAt, created: this.#created(listed) });
  }

  /**
   * Reports whether this resource created the entry of a version: it did before, or by a push whose
   * response was lost. What the list shows is in the record already.
   */
  #created(version: VersionIdentity): boolean {
    const record = this.#record;
    if (version.version === 1 && this.#context.memory.uncertain.get(this.#id)?.creates === true)
      return true;
    return (
      record?.created === true &&
      (record.version < version.version || isSameVersion(record, version))
    );
  }

  #store({
    version,
    createdAt,
    deleteAt,
    pushedAt,
    created,
  }: ListedVersion & { pushedAt: string | undefined; created: boolean }): void {
    const { secretKey, kind, name } = this.#item;
    const { records, seen } = this.#context.memory;
    seen.delete(this.#id);
    records.set(this.#id, {
      secretKey,
      ...(kind === "file" ? { filename: name } : { key: name }),
      version,
      content: this.#content,
      ...defined({
        owner: this.#entry.owner,
        createdAt,
        deleteAt,
        pushedAt,
        created: created ? true : undefined,
      }),
    });
  }

  #removed(): ReadyCondition {
    const { name, secretKey } = this.#item;
    const message = `the vault removed the secret ${name} at its deleteTime (${this.#record?.deleteAt}); it is pushed again when the key ${secretKey} changes`;
    return notReady("SourceRemoved", message);
  }

  /** Pushes, unless an earlier push has to be waited for. */
  async #limited(listed: ListedVersion | undefined, restored: boolean): Promise<PushOutcome> {
    const { repairs } = this.#context.memory;
    const now = this.#options.clock.monotonic();
    const waiting =
      this.#unknownRival(listed) ??
      this.#rejected(listed, now) ??
      (restored ? this.#contested(listed, now) : undefined) ??
      this.#exhausted();
    if (waiting !== undefined) return waiting;
    const outcome = await this.#write(listed, restored);
    if (outcome.effect !== undefined && restored)
      repairs.set(this.#id, countRepair(repairs.get(this.#id), now));
    return outcome;
  }

  /**
   * Returns the outcome if an unknown VaultPush may be older. The latest version is not its own if
   * this resource pushed it: then the operator may continue.
   */
  #unknownRival(listed: ListedVersion | undefined): PushOutcome | undefined {
    const [item, record] = [this.#item, this.#record];
    const message = this.#context.rivals.unknownRival(item, listed === undefined);
    const isLatest = record !== undefined && listed !== undefined && isSameVersion(record, listed);
    if (message === undefined || isLatest) return undefined;
    return { item, problem: notReady("TargetForbidden", message) };
  }

  /** Returns the outcome if the vault rejected the same push a short time ago. */
  #rejected(listed: ListedVersion | undefined, now: number): PushOutcome | undefined {
    const { memory, object, access, verify } = this.#context;
    const rejected = memory.rejected.get(this.#id);
    const isSame =
      !verify &&
      rejected?.content === this.#content &&
      rejected.connection === access.fingerprint &&
      rejected.generation === (object.metadata.generation ?? 0);
    return isSame && rejected.version === listed?.version && rejected.until > now
      ? { item: this.#item, failure: rejected.failure, waitMs: rejected.until - now }
      : undefined;
  }

  /** Returns the outcome if another writer changes the entry each time it is pushed. */
  #contested(listed: ListedVersion | undefined, now: number): PushOutcome | undefined {
    const item = this.#item;
    const waitMs = repairDelay(this.#context.memory.repairs.get(this.#id), now);
    if (waitMs <= 0) return undefined;
    const message = `another writer changes the ${entryOf(item)} each time it is pushed (its version is ${listed?.version ?? "gone"}, not ${this.#record?.version}): stop it, or choose another entry`;
    return { item, problem: notReady("TargetContested", message), waitMs };
  }

  /** Returns the outcome if the operator pushed to the entry too often. */
  #exhausted(): PushOutcome | undefined {
    const item = this.#item;
    const exhausted = this.#options.pushBudget.exhausted(this.#budgetKey);
    if (exhausted === undefined) return undefined;
    const message = `${entryOf(item)}: ${exhausted.message}. Stop what changes the key ${item.secretKey} of the Secret ${this.#context.resource.secret} that often, such as a VaultSecret that reads what is pushed`;
    return { item, problem: notReady("TargetContested", message), waitMs: exhausted.waitMs };
  }

  async #write(listed: ListedVersion | undefined, restored: boolean): Promise<PushOutcome> {
    const { access, memory, source, object, signal } = this.#context;
    const { clock } = this.#options;
    const item = this.#item;
    const request = this.#request(await source.bytes(item.secretKey));
    try {
      const done = (await this.#isStored(request)) ? { item } : this.#exhausted();
      if (done !== undefined) return done;
      const written = await access.connection.write(request, signal);
      this.#written(written, listed);
      return { item, effect: { restored, version: written.version } };
    } catch (error) {
      signal.throwIfAborted();
      const failure = pushFailure(error, item, this.#entry);
      if (mayHaveHappened(error))
        memory.uncertain.set(this.#id, { creates: listed === undefined, content: this.#content });
      if (failure.next.outcome === "done") {
        const { generation = 0 } = object.metadata;
        const until = clock.monotonic() + REJECTED_MS;
        memory.rejected.set(this.#id, {
          content: this.#content,
          connection: access.fingerprint,
          generation,
          version: listed?.version,
          until,
          failure,
        });
      }
      return { item, failure, ends: concernsConnection(error) };
    }
  }

  /**
   * Reports whether the vault has the bytes already, whatever its list shows: the response to an
   * earlier push may have been lost, its status not been written, or the list may be an old one.
   */
  async #isStored(request: EntryWrite): Promise<boolean> {
    const { access, memory, resource, signal } = this.#context;
    const address =
      request.kind === "file"
        ? { ...request, owner: undefined, received: false, shared: false }
        : request;
    const latest = await access.connection.latest({ ...address, consumer: resource }, signal);
    if (latest === undefined) return false;
    const { digest } = keyFacts(this.#options.contentKey, latest.bytes.reveal());
    const content = this.#contentOf(digest);
    this.#confirm(content);
    if (content !== this.#content) return false;
    const record = this.#entry.record && listedVersion(this.#entry.record);
    const version = latest.version ?? record?.version;
    const isListed = record !== undefined && record.version === version;
    // Without its number the version is compared again in the next reconcile.
    if (!isListed) access.connection.pollSoon();
    if (version !== undefined)
      this.#keep(isListed ? record : unlistedVersion(version, this.#record));
    memory.uncertain.delete(this.#id);
    return true;
  }

  /** Counts a push whose result was unknown: the entry has its content. */
  #confirm(content: string): void {
    if (confirmPush(this.#context.memory, this.#id, content))
      this.#options.pushBudget.count(this.#budgetKey);
  }

  #written(
    { version, createdAt, deleteAt }: WrittenVersion,
    listed: ListedVersion | undefined,
  ): void {
    const { memory } = this.#context;
    const times = {
      createdAt: formatTimestamp(createdAt),
      deleteAt: formatTimestamp(deleteAt) ?? listed?.deleteAt,
    };
    const created =
      listed === undefined ? version === 1 : this.#created({ version, createdAt: times.createdAt });
    this.#store({
      version,
      ...times,
      created,
      pushedAt: new Date(this.#options.clock.now()).toISOString(),
    });
    this.#options.pushBudget.count(this.#budgetKey);
    memory.uncertain.delete(this.#id);
    memory.rejected.delete(this.#id);
  }

  #request(bytes: Uint8Array): EntryWrite {
    const { kind, name, metadata, deleteMinutes } = this.#item;
    const { guard } = this.#options;
    if (kind === "file") return { kind, name, bytes: new Redacted(bytes), guard };
    const { owner, shared } = this.#entry;
    return {
      kind,
      name,
      guard,
      value: new Redacted(utf8Text(bytes) ?? ""),
      // Without it, the secret of another account could be taken for the account's own one of that
      // name.
      owner: owner ?? this.#context.access.account,
      received: owner !== undefined,
      shared,
      metadata,
      deleteMinutes,
    };
  }
}
