import { vaultPushKind } from "../../../src/operator/api/kinds.ts";
import { parseDeleteTime } from "../../../src/operator/api/vault-push.ts";
import { LEASES } from "../../../src/operator/kube/resource.ts";
import type { Change } from "../../lab/simulated/api-server/collection.ts";
import { Leadership } from "../invariants/leadership.ts";
import type { CarriedOut } from "../run-replica.ts";
import { CANARY } from "../simulated-values.ts";
import { TOKEN } from "../stored-tokens.ts";
import { Violation } from "../world.ts";
import { entryKey, type EntryRef, type EntryVersion } from "./entry-journal.ts";
import { checkGone, checkReady } from "./push-status-rules.ts";
import {
  type ConnectionSpec,
  type Item,
  isOlder,
  mayPushTo,
  type PushState,
} from "./push-specs.ts";
import type { PushWorld, Source } from "./push-world.ts";
import { ReplacedEntries } from "./replaced-entries.ts";
import { rivalsOf, sharersOf } from "./rivals.ts";

const HOUR_MS = 3_600_000;
const MAX_PER_HOUR = 30;
/** Time in milliseconds for which entries are deleted with the session of a deleted connection. */
const LEAVING_MS = 300_000;

/** A VaultPush that may have sent a request, and the key of its connection. */
interface Sender {
  readonly push: PushState;
  readonly item: Item;
  readonly connection: string;
}

const isList = (operation: string): boolean =>
  operation === "list_no_dup" || operation === "list_file";

/** The version that a request has written. */
interface Written {
  readonly version: number;
  readonly base64: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const nameOf = ({ namespace, secret }: Source): string => `${namespace}/${secret}`;

/** Checks every request of the operator that changes an entry, and every status of a VaultPush. */
export class PushRules {
  /** Number of writes to the vaults, and of statuses of VaultPushes. */
  writes = 0;
  readonly #scene: PushWorld;
  readonly #leadership: Leadership;
  readonly #replaced: ReplacedEntries;
  /** Monotonic times of the versions that a process wrote, by its name and the entry. */
  readonly #written = new Map<string, number[]>();

  constructor(scene: PushWorld) {
    const { world } = scene;
    this.#scene = scene;
    this.#leadership = new Leadership(world);
    this.#replaced = new ReplacedEntries(scene, this.#leadership);
    world.onVaultRequest = (request) => scene.report(() => this.#checkRequest(request));
    world.server.onCommit((change) => {
      this.#leadership.remember(change);
      if (change.user.startsWith("operator-")) scene.report(() => this.#checkCommit(change));
    });
  }

  #checkCommit({ resource, before, after, user }: Change): void {
    const { namespace, name } = (after ?? before)!.metadata;
    if (resource.kind === LEASES.kind) return;
    const text = JSON.stringify([after?.metadata, after?.["status"], after?.["note"]]);
    if (text.includes(CANARY) || TOKEN.test(text))
      throw new Violation("I11", `${resource.kind} ${namespace}/${name} contains a value: ${text}`);
    if (resource.kind !== vaultPushKind.kind || before === undefined) return;
    this.writes += 1;
    if (after !== undefined) checkReady(this.#scene, user, before, after);
    checkGone(this.#scene, user, before, after);
  }

  #checkRequest({ user, vault, request, response }: CarriedOut): void {
    const body = request.body as Readonly<Record<string, string | undefined>>;
    const { email = "", key_name: name = "", filename } = body;
    const { journal } = this.#scene;
    if (isList(request.operation) && [200, 304].includes(response.status)) {
      const kind = request.operation === "list_file" ? "file" : "secret";
      return this.#replaced.listed({ user, vault, owner: email, kind });
    }
    if (response.status !== 200) return;
    const secret = { vault, kind: "secret", owner: email, name } as const;
    const file = { vault, kind: "file", owner: email, name: filename ?? "" } as const;
    switch (request.operation) {
      case "expose":
        return journal.read(user, secret);
      case "expose_link":
        return journal.read(user, { ...secret, owner: body["owner"] ?? email });
      case "download_file":
        return journal.read(user, file);
      case "protect":
      case "protect_link": {
        const { secret: written } = JSON.parse(Buffer.from(response.body).toString()) as {
          readonly secret: {
            readonly key_version: number;
            readonly owner: string;
            readonly metadata: Readonly<Record<string, unknown>>;
          };
        };
        const base64 = Buffer.from(body["key_value"] ?? "").toString("base64");
        const sent =
          request.operation === "protect"
            ? (request.body as Readonly<Record<string, unknown>>)
            : undefined;
        const ref = { ...secret, owner: written.owner };
        const { key_version: version, metadata } = written;
        return this.#wrote(user, ref, { version, base64, metadata }, sent);
      }
      case "protect_file": {
        const { upload } = request;
        const { files } = JSON.parse(Buffer.from(response.body).toString()) as {
          readonly files: readonly [{ readonly version: number }];
        };
        const base64 = Buffer.from(upload?.bytes.reveal() ?? []).toString("base64");
        const ref = { ...file, name: upload?.filename ?? "" };
        return this.#wrote(user, ref, { version: files[0].version, base64 }, undefined);
      }
      case "delete":
        return this.#deleted(user, secret);
      case "delete_file":
        return this.#deleted(user, file);
      default:
    }
  }

  #wrote(
    user: string,
    ref: EntryRef,
    { version, base64, metadata }: Written,
    sent: Readonly<Record<string, unknown>> | undefined,
  ): void {
    const { journal, world } = this.#scene;
    this.writes += 1;
    const { delete_time: minutes } = (sent ?? {}) as { readonly delete_time?: number };
    // The vault may have removed an entry with the same bytes at its deadline.
    const before = journal.version(ref, version - 1);
    const all = this.#scene.sourcesOf(base64);
    const found = all.map((one) => ({ ...one, senders: this.#senders(user, ref, one) }));
    const sources = found.filter((one) => one.senders.length > 0);
    const senders = sources.flatMap((one) => one.senders);
    const by = new Set(senders.map(({ push }) => push.uid));
    journal.wrote(ref, { version, base64, by });
    if (version === 1) this.#replaced.created(ref, by);
    world.vaults.pushed(ref, { version, base64, metadata, minutes });
    const what = `${user} pushed version ${version} of ${entryKey(ref)}`;
    if (all.length === 0) throw new Violation("P1", `${what} with bytes that no Secret had`);
    if (senders.length === 0)
      throw new Violation(
        "P5",
        `${what} from ${all.map(nameOf).join(" or ")} without a VaultPush that names it`,
      );
    this.#leadership.check(
      what,
      user,
      senders.map(({ connection }) => connection),
    );
    if (!sources.some((source) => this.#hadRecently(user, source, base64)))
      throw new Violation(
        "P1",
        `${what} with bytes that ${sources.map(nameOf).join()} had long ago`,
      );
    // Two VaultPushes that take turns at an edit, or two leaders: one read the entry while the other
    // wrote.
    const mayRace = by.size > 1 || world.mayHaveTwoLeaders();
    const isRace = mayRace && journal.readBy(user, ref)?.version !== before?.version;
    if (before?.base64 === base64 && !isRace)
      throw new Violation("P3", `${what} with the bytes of the version before`);
    this.#checkRivals(what, user, ref, senders, before);
    if (sent !== undefined && !senders.some(({ item }) => isSentWith(item, sent)))
      throw new Violation("P5", `${what} with metadata or a deadline that no VaultPush has`);
    if (minutes !== undefined) this.#scene.expires(ref, world.clock.now() + minutes * 60_000);
    this.#count(what, user, ref);
  }

  /** Reports whether a key had bytes that a process may still know. */
  #hadRecently(user: string, { namespace, secret, key }: Source, base64: string): boolean {
    const slackMs = this.#scene.slackMs(user, namespace);
    return this.#scene.secrets
      .during(`${namespace}/${secret}`, slackMs)
      .some((data) => data[key] === base64);
  }

  /** Returns the VaultPushes that may push the key to the entry. */
  #senders(user: string, ref: EntryRef, { namespace, secret, key }: Source): Sender[] {
    return this.#statesOf(user, namespace, ref).filter(
      ({ push, item }) =>
        !push.isDeleting &&
        push.spec.suspend !== true &&
        push.spec.secret.name === secret &&
        item.secretKey === key,
    );
  }

  /**
   * Returns the recent states of the VaultPushes of a namespace that push to the entry, with
   * connections that existed until `moreMs` before.
   */
  #statesOf(user: string, namespace: string, ref: EntryRef, moreMs = 0): Sender[] {
    const { pushes, connections } = this.#scene;
    const slackMs = this.#scene.slackMs(user, namespace);
    const isThere = (connection: string, item: Item): boolean =>
      connections
        .during(connection, slackMs + moreMs)
        .some((spec: ConnectionSpec) => mayPushTo(item, spec, ref));
    return [...pushes.keys()]
      .filter((key) => key.startsWith(`${namespace}/`))
      .flatMap((key) => pushes.during(key, slackMs))
      .flatMap((push) => {
        const connection = `${namespace}/${push.spec.connectionRef.name}`;
        return (push.spec.data ?? []).map((item) => ({ push, item, connection }));
      })
      .filter(({ item, connection }) => isThere(connection, item));
  }

  /** Of several VaultPushes to one entry the oldest one pushes (P4). */
  #checkRivals(
    what: string,
    user: string,
    ref: EntryRef,
    senders: readonly Sender[],
    before: EntryVersion | undefined,
  ): void {
    const problems = senders.map(({ push }) => {
      const older = rivalsOf(this.#scene, user, ref).find(
        ({ push: rival, isKnown }) =>
          isOlder(rival, push) && (isKnown || (before !== undefined && !before.by.has(push.uid))),
      );
      return (
        older &&
        `${push.namespace}/${push.name}, although ${older.push.namespace}/${older.push.name} is older`
      );
    });
    if (problems.every((problem) => problem !== undefined))
      throw new Violation("P4", `${what} for ${problems.join(" or ")}`);
  }

  #count(what: string, user: string, ref: EntryRef): void {
    const now = this.#scene.world.clock.monotonic();
    const key = `${user} ${entryKey(ref)}`;
    const recent = (this.#written.get(key) ?? []).filter((at) => at > now - HOUR_MS);
    this.#written.set(key, [...recent, now]);
    if (recent.length >= MAX_PER_HOUR)
      throw new Violation("P6", `${what}, the ${recent.length + 1}th within an hour`);
  }

  #deleted(user: string, ref: EntryRef): void {
    const { journal } = this.#scene;
    this.writes += 1;
    const read = journal.readBy(user, ref);
    const sharers = sharersOf(this.#scene, user, ref);
    this.#scene.gone(ref);
    this.#scene.world.vaults.deletedByPush(ref);
    if (ref.kind === "secret") this.#scene.world.onPushDelete(ref);
    const what = `${user} deleted ${entryKey(ref)}`;
    const senders = this.#scene.namespaces.flatMap((namespace) =>
      this.#statesOf(user, namespace, ref, LEAVING_MS).filter(
        ({ push }) =>
          push.isDeleting && push.spec.deletionPolicy === "Delete" && push.spec.suspend !== true,
      ),
    );
    if (senders.length === 0)
      throw new Violation("P7", `${what} without a deleted VaultPush with Delete that names it`);
    this.#leadership.check(
      what,
      user,
      senders.map(({ connection }) => connection),
    );
    const owners = senders.filter(({ push }) => read?.by.has(push.uid) === true);
    if (owners.length === 0)
      throw new Violation("P8", `${what}, whose latest version its VaultPush did not write`);
    const created = owners.filter(({ push }) => journal.creators(ref).has(push.uid));
    if (created.length === 0)
      throw new Violation("P8", `${what} although its VaultPush did not create it`);
    if (created.every(({ push }) => this.#replaced.has(ref, push.uid)))
      throw new Violation("P8", `${what}, which lists showed that another writer created`);
    const rival = sharers.find(({ push }) => !push.isDeleting);
    if (rival !== undefined)
      throw new Violation(
        "P8",
        `${what} although ${rival.push.namespace}/${rival.push.name} pushes to it`,
      );
  }
}

/** Reports whether a write has the metadata and the deadline of an item. */
function isSentWith(
  { metadata, deleteTime }: Item,
  { metadata: sent, delete_time: minutes }: Readonly<Record<string, unknown>>,
): boolean {
  const wanted = deleteTime === undefined ? undefined : parseDeleteTime(deleteTime);
  return JSON.stringify(sent) === JSON.stringify(metadata) && minutes === wanted;
}
