import type { Fetch, Entry } from "../../sync/decide.ts";
import { foundText } from "../../sync/find-items.ts";
import { madeBy } from "../../sync/item-form.ts";
import { type SyncItem, isDerived, type SyncResource } from "../../sync/sync-resource.ts";
import { type Claims, sameCreation, sourceId, type SyncedKey } from "../../sync/target.ts";
import { isVaultError } from "../../vault-client/vault-error.ts";
import { entryFailure } from "../outcome/entry-failure.ts";
import { AccessChanged } from "./revocable-reads.ts";
import { type Failure, retryable, DONE, lasting } from "../outcome/outcome.ts";
import { bytesDigest, type Content } from "../../sync/content.ts";
import { certificateLifetime, type Lifetime } from "../../sync/expiry.ts";
import { type Input, inputsOf } from "../../sync/derive.ts";
import { makeContent } from "../../sync/make-content.ts";
import { type KeyState, reviewKey } from "../../sync/review-content.ts";
import type { Assembling, CurrentTarget } from "./stages.ts";
import { rejected } from "./sync-result.ts";

/**
 * One key of the new target. `bytes` is `undefined` if the target keeps them and they were not
 * read.
 */
export interface GatheredKey {
  readonly targetKey: string;
  readonly state: KeyState;
  readonly bytes: Uint8Array | undefined;
  readonly isNew: boolean;
}

/** The content of a new target. */
export interface Gathered {
  readonly keys: readonly GatheredKey[];
  /** Origins by item. */
  readonly claims: Claims;
  /** The items whose bytes were read from the vault. */
  readonly fetched: ReadonlySet<string>;
  /** Their certificates; `undefined`: they have none. */
  readonly certificates?: ReadonlyMap<string, Lifetime | undefined>;
  /** Reason why a key does not have the version that it should have. */
  readonly problem?: Failure | undefined;
}

/** The bytes of one item from the vault. */
interface ReadInput extends Input {
  readonly synced: SyncedKey;
  /** The vault returned an earlier version than its list shows. */
  readonly lag: Failure | undefined;
}

/** Empty content. */
export const NO_CONTENT: Gathered = { keys: [], claims: new Map(), fetched: new Set() };

/**
 * Assembles the content of a target: synced bytes from the target itself if it can be trusted, all
 * other bytes from the vault. Returns `unavailable` if the bytes of an entry are in neither, or the
 * failure that prevents a complete content.
 */
export function gatherContent(
  entries: readonly Entry[],
  input: Assembling,
): Promise<Gathered | "unavailable" | Failure> {
  const { limits, resource } = input;
  return limits.wait(async () => {
    const parts: Gathered[] = [];
    for (const part of await Promise.all(
      partsOf(entries, resource).map((one) => gatherPart(one, input)),
    )) {
      if (part === "unavailable" || "condition" in part) return part;
      parts.push(part);
    }
    const problem = parts.find((part) => part.problem !== undefined)?.problem;
    if (problem !== undefined && followsTogether(input)) return problem;
    return {
      keys: parts.flatMap(({ keys }) => keys),
      claims: new Map(parts.flatMap(({ claims }) => [...claims])),
      fetched: new Set(parts.flatMap(({ fetched }) => [...fetched])),
      certificates: new Map(parts.flatMap(({ certificates = [] }) => [...certificates])),
      problem,
    };
  });
}

/**
 * Groups the entries by what is made of them together: each makes a separate key, unless the
 * content is derived from all of them. A derived target never mixes new versions of some sources
 * with earlier versions of other sources.
 */
function partsOf(entries: readonly Entry[], resource: SyncResource): readonly (readonly Entry[])[] {
  if (!isDerived(resource)) return entries.map((entry) => [entry]);
  return entries.length === 0 ? [] : [entries];
}

/**
 * Gathers what is made of these entries. What must not replace the content that the target has
 * leaves it unchanged.
 */
async function gatherPart(
  entries: readonly Entry[],
  input: Assembling,
): Promise<Gathered | "unavailable" | Failure> {
  const kept = keptPart(entries, input);
  if (kept !== undefined && entries.every(({ from }) => from === "target")) return kept;
  const inputs = await readAll(entries, input);
  if (inputs === "unavailable") return inputs;
  if ("condition" in inputs)
    return isKept(kept, entries, inputs, input) ? { ...kept, problem: inputs } : inputs;
  const lag = inputs.find((one) => one.lag !== undefined)?.lag;
  const isOld = inputs.some(
    (one) => one.lag !== undefined && one.synced.version === kept?.claims.get(one.item.id)?.version,
  );
  if (kept !== undefined && isOld) return { ...kept, problem: lag };
  const made = await makePart(entries, inputs, input);
  if (!("condition" in made)) return { ...made, problem: lag };
  return kept === undefined ? made : { ...kept, problem: made };
}

/**
 * Reports whether a failure leaves only these entries unchanged. One that is retried may end soon:
 * the target gets all new versions together then. So it does if the spec names another source.
 */
function isKept(
  kept: Gathered | undefined,
  entries: readonly Entry[],
  { next }: Failure,
  { resource }: Assembling,
): kept is Gathered {
  if (kept === undefined || next.outcome === "retry" || isDerived(resource)) return false;
  return entries.every((entry) => {
    if (entry.from === "target") return true;
    const { vault, owner } = entry.fetch.candidate;
    return kept.claims.get(entry.id)?.source === sourceId(vault, entry.item.source, owner);
  });
}

/**
 * Reports whether no key of an existing target follows the vault unless all do: a previous version
 * belongs to the latest one next to it.
 */
const followsTogether = ({ resource: { updates, items }, state }: Assembling): boolean =>
  (updates !== undefined || items.some(({ version }) => version === "previous")) &&
  state.state === "owned" &&
  state.synced.size > 0;

/**
 * Returns what the target has of these entries, if that can be trusted and nothing else is in it.
 * What an earlier spec made of them is not kept: it would be next to what this spec makes of other
 * entries.
 */
function keptPart(
  entries: readonly Entry[],
  { resource, state, current }: Assembling,
): Gathered | undefined {
  if (state.state !== "owned" || !current.trusted) return undefined;
  const claims = new Map<string, SyncedKey>();
  for (const { id, item } of entries) {
    const claim = state.synced.get(id);
    if (claim === undefined || madeBy(claim.form) !== madeBy(item.form)) return undefined;
    claims.set(id, claim);
  }
  const isWhole = isDerived(resource);
  if (isWhole && claims.size < state.synced.size) return undefined;
  const names = isWhole ? [...current.keys.keys()] : [...claims.keys()];
  const keys = keptKeys(names, current);
  return keys.length < names.length ? undefined : { keys, claims, fetched: new Set() };
}

/** Returns these keys with the content that the target has. */
export function keptKeys(
  names: readonly string[],
  { keys, content }: CurrentTarget,
): GatheredKey[] {
  return names.flatMap((targetKey) => {
    const state = keys.get(targetKey);
    return state === undefined
      ? []
      : [{ targetKey, state, bytes: content.get(targetKey), isNew: false }];
  });
}

async function readAll(
  entries: readonly Entry[],
  { state, reads: signal }: Assembling,
): Promise<ReadInput[] | "unavailable" | Failure> {
  const fetches = entries.map((entry) => (entry.from === "target" ? entry.refetch : entry.fetch));
  if (fetches.includes(undefined)) return "unavailable";
  const responses = await Promise.all(
    entries.map(async ({ item, id }, index) => {
      const fetch = fetches[index];
      const before = state.state === "owned" ? state.synced.get(id) : undefined;
      return fetch === undefined ? "unavailable" : readEntry(item, fetch, before, signal);
    }),
  );
  const inputs: ReadInput[] = [];
  for (const one of responses) {
    if (one === "unavailable" || "condition" in one) return one;
    inputs.push(one);
  }
  return inputs;
}

/** Makes the content of entries that were read. */
async function makePart(
  entries: readonly Entry[],
  inputs: readonly ReadInput[],
  input: Assembling,
): Promise<Gathered | Failure> {
  const { resource, contentKey, current, now } = input;
  const content = await makeContent(resource, inputs, contentKey, now);
  if ("reason" in content) return rejected(content);
  const claims = new Map(inputs.map(({ item, synced }) => [item.id, synced]));
  const sources = { items: inputs.map(({ item }) => item), template: resource.template };
  const keys: GatheredKey[] = [];
  for (const [targetKey, bytes] of content) {
    const items = inputsOf(sources, targetKey);
    const state = {
      ...bytesDigest(contentKey, bytes),
      origin: items.flatMap(({ id }) => claims.get(id) ?? []),
    };
    const objection = reviewKey(resource, items, state, comparable(entries, targetKey, input));
    if (objection !== undefined) return lasting(objection.reason, objection.message, DONE);
    const isSame = current.trusted && current.keys.get(targetKey)?.digest === state.digest;
    keys.push({ targetKey, state, bytes, isNew: !isSame });
  }
  const certificates = certificatesOf(inputs, content, sources);
  return { keys, claims, fetched: new Set(claims.keys()), certificates };
}

/**
 * Returns the lifetimes of the certificates in the bytes of items and in the keys that are made of
 * one item alone: the one that ends first.
 */
function certificatesOf(
  inputs: readonly ReadInput[],
  content: Content,
  sources: Parameters<typeof inputsOf>[0],
): ReadonlyMap<string, Lifetime | undefined> {
  const all = new Map(inputs.map(({ item, bytes }) => [item.id, certificateLifetime(bytes)]));
  for (const [targetKey, bytes] of content) {
    const [only, another] = inputsOf(sources, targetKey);
    const lifetime = only && another === undefined ? certificateLifetime(bytes) : undefined;
    const { to = Infinity } = (only && all.get(only.id)) ?? {};
    if (only && lifetime !== undefined && lifetime.to < to) all.set(only.id, lifetime);
  }
  return all;
}

/**
 * Returns what the new bytes of a key are compared with: the verified content, also if the target
 * was edited since. Of edited content only that is known which a new version would replace.
 */
function comparable(
  entries: readonly Entry[],
  targetKey: string,
  { current, verified }: Assembling,
): KeyState | undefined {
  if (current.trusted) return current.keys.get(targetKey);
  const isReplaced = entries.some(({ from }) => from === "vault");
  return verified?.get(targetKey) ?? (isReplaced ? current.keys.get(targetKey) : undefined);
}

/**
 * Reads the source of an item from the vault. `before` is the origin of the bytes that the target
 * has of it.
 */
async function readEntry(
  item: SyncItem,
  fetch: Fetch,
  before: SyncedKey | undefined,
  signal: AbortSignal,
): Promise<ReadInput | Failure> {
  const { vault, owner, createdAt, read } = fetch.candidate;
  const source = sourceId(vault, item.source, owner);
  const fetched = await read(fetch.version, signal).catch((error: unknown) =>
    readFailure(error, item.source),
  );
  if ("condition" in fetched) return fetched;
  const { version } = fetched;
  // The response may be older than the list; it must not take the target back to an earlier
  // version.
  const wentBack = before?.source === source && version < Math.min(before.version, fetch.version);
  const message = `${item.source}: the vault returned version ${version} instead of ${fetch.version}`;
  if ((item.version !== "latest" && version !== fetch.version) || wentBack)
    return retryable("UnexpectedResponse", message);
  const isLagging = version < fetch.version;
  const lag = isLagging
    ? retryable("Progressing", `${message}, which its list shows: the operator retries`)
    : undefined;
  const synced = {
    version,
    source,
    createdAt: createdAt?.get(version),
    form: item.form,
    found: foundText(item),
  };
  const isServed = before !== undefined && isSame(before, synced);
  return { item, bytes: fetched.bytes.reveal(), version, isServed, synced, lag };
}

/** Reports whether two claims are of one version in one form. */
const isSame = (one: SyncedKey, other: SyncedKey): boolean =>
  one.version === other.version &&
  one.source === other.source &&
  one.form === other.form &&
  sameCreation(one.createdAt, other.createdAt);

function readFailure(error: unknown, source: string): Failure {
  if (isVaultError(error)) return entryFailure(error, source);
  if (error instanceof AccessChanged)
    return retryable("Progressing", `${error.message}: the operator retries`);
  throw error;
}
