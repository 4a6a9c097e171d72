import { CLOCK_SKEW_MS } from "../lib/clock-skew.ts";
import type { PushItemStatus } from "../api/vault-push.ts";

/**
 * Facts that decide about one key: the content of the Secret, the content of the vault, and the
 * last push.
 */
export interface PushFacts {
  /** HMAC of the entry and the bytes of the key. */
  readonly content: string;
  /**
   * HMAC of the listed version, if its bytes are known; `undefined` if the vault lists no such
   * entry.
   */
  readonly listed: { readonly content: string | undefined } | undefined;
  /** The last push to this entry, or the version that had the bytes. */
  readonly record: Pick<PushItemStatus, "content" | "deleteAt"> | undefined;
  readonly now: number;
}

/**
 * `keep`: the vault has the bytes. `removed`: the vault removed them at the deleteTime, and the key
 * is unchanged since. `compare`: the bytes of the listed version are to be read first. `push`:
 * `restored` if the key is unchanged since the last push: another writer changed or deleted the
 * entry.
 */
export type PushDecision =
  | { readonly action: "keep" | "removed" | "compare" }
  | { readonly action: "push"; readonly restored: boolean };

/**
 * Decides what to do with one key. A push requires that the bytes of the Secret and the vault
 * differ; version numbers do not count. A push whose result is unknown, or was not reported, is
 * therefore not repeated.
 */
export function decidePush({ content, listed, record, now }: PushFacts): PushDecision {
  const unchanged = record?.content === content;
  if (listed === undefined) {
    const isDue =
      unchanged &&
      record.deleteAt !== undefined &&
      Date.parse(record.deleteAt) <= now + CLOCK_SKEW_MS;
    return isDue ? { action: "removed" } : { action: "push", restored: unchanged };
  }
  if (listed.content === undefined) return { action: "compare" };
  return listed.content === content ? { action: "keep" } : { action: "push", restored: unchanged };
}
