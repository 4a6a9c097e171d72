import { createHmac } from "node:crypto";
import { Redacted } from "../../../lib/redacted.ts";
import { bytesDigest, type Content } from "../../sync/content.ts";
import type { Entry } from "../../sync/decide.ts";
import { derive, type Input, inputsOf } from "../../sync/derive.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import { type KeyState, reviewKey } from "../../sync/review-content.ts";
import type { SyncedKey } from "../../sync/target.ts";
import { renderAside } from "../../template/render-aside.ts";
import type { Gathered, GatheredKey, GatherInput } from "./gather-content.ts";
import { readEntry } from "./read-entry.ts";
import { DONE, type Failure, lasting } from "./sync-result.ts";

/** The bytes of one item from the vault. */
interface ReadInput extends Input {
  readonly synced: SyncedKey;
}

/**
 * Computes the content of a target from all its sources, which are read from the vault if anything changed: a target never has what
 * was made of some sources in their new version and of others in their last one. Returns `unavailable` if one of them cannot be read.
 */
export async function deriveContent(entries: readonly Entry[], input: GatherInput): Promise<Gathered | "unavailable" | Failure> {
  const kept = keptContent(entries, input);
  if (kept !== undefined) return kept;
  const inputs = await readAll(entries, input);
  if (inputs === "unavailable" || "condition" in inputs) return inputs;
  const content = await contentOf(inputs, input);
  if ("reason" in content) return lasting(content.reason, content.message, DONE);
  const claims = new Map(inputs.map(({ item, synced }) => [item.id, synced]));
  const keys: GatheredKey[] = [];
  for (const [targetKey, bytes] of content) {
    const items = inputsOf(input.resource, targetKey).filter(({ id }) => claims.has(id));
    const origin = items.flatMap(({ id }) => claims.get(id) ?? []);
    const state = { ...bytesDigest(input.contentKey, bytes), origin };
    const objection = reviewKey(input.resource, items, state, comparable(entries, targetKey, input));
    if (objection !== undefined) return lasting(objection.reason, objection.message, DONE);
    const isSame = input.current.trusted && input.current.keys.get(targetKey)?.digest === state.digest;
    keys.push({ targetKey, state, bytes, isNew: !isSame });
  }
  return { keys, claims, fetched: new Set(claims.keys()) };
}

/** Computes the content from the bytes of all items, by the template if there is one. */
async function contentOf(inputs: readonly Input[], { resource, contentKey }: GatherInput): Promise<Content | ReadyCondition> {
  const values = derive(resource, inputs);
  const { template, kind, namespace, name } = resource;
  if (template === undefined || "reason" in values) return values;
  const seed = createHmac("sha256", contentKey.reveal()).update(`template:${kind}/${namespace}/${name}`).digest();
  const rendering = await renderAside({ template, variables: values, seed: new Redacted(seed) });
  if (rendering.ok) return rendering.content;
  return notReady("TemplateError", `${rendering.message}; the target is left unchanged`);
}

/** Returns the content that the target has, if only its metadata is to be written. */
function keptContent(entries: readonly Entry[], { current, state }: GatherInput): Gathered | undefined {
  if (!current.trusted || state.state !== "owned" || entries.length !== state.synced.size) return undefined;
  if (!entries.every(({ from }) => from === "target")) return undefined;
  const keys = [...current.keys].map(([targetKey, key]): GatheredKey => {
    return { targetKey, state: key, bytes: current.content.get(targetKey), isNew: false };
  });
  return { keys, claims: state.synced, fetched: new Set() };
}

async function readAll(entries: readonly Entry[], input: GatherInput): Promise<ReadInput[] | "unavailable" | Failure> {
  const { state, signal } = input;
  const fetches = entries.map((entry) => (entry.from === "target" ? entry.refetch : entry.fetch));
  if (fetches.includes(undefined)) return "unavailable";
  const inputs: ReadInput[] = [];
  const reads = await Promise.all(
    entries.map(async ({ item, id }, index) => {
      const fetch = fetches[index];
      const before = state.state === "owned" ? state.synced.get(id) : undefined;
      return fetch === undefined ? "unavailable" : { item, read: await readEntry(item, fetch, before, signal) };
    }),
  );
  for (const one of reads) {
    if (one === "unavailable") return one;
    const { item, read } = one;
    if ("condition" in read) return read;
    if (read.lag !== undefined) return read.lag;
    inputs.push({ item, bytes: read.bytes, synced: read.synced });
  }
  return inputs;
}

/** Returns what a computed key is compared with, as for a key that is made of one source. */
function comparable(entries: readonly Entry[], targetKey: string, { current, verified }: GatherInput): KeyState | undefined {
  if (current.trusted) return current.keys.get(targetKey);
  const isReplaced = entries.some(({ from }) => from === "vault");
  return verified?.get(targetKey) ?? (isReplaced ? current.keys.get(targetKey) : undefined);
}
