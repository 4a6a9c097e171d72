import type { AccessToken } from "../store/records.ts";
import type { Store } from "../store/store.ts";

/**
 * Interval of recorded uses of one token, in milliseconds: a token of a program may be used every
 * second.
 */
const RECORD_INTERVAL_MS = 3_600_000;

/**
 * Uses of access tokens that are not in the store yet, so that no request waits for a write because
 * of them.
 */
export class TokenUses {
  #uses = new Map<string, number>();

  /** Notes a use, unless one was recorded within the hour before. */
  note({ digest, usedAt }: Pick<AccessToken, "digest" | "usedAt">, now: number): void {
    if (now - usedAt >= RECORD_INTERVAL_MS) this.#uses.set(digest, now);
  }

  /** Records the noted uses. Those of a failed write are noted again by the next requests. */
  async record(store: Store): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    await store.write(async ({ tokens }) => {
      for (const [digest, now] of uses) await tokens.touchAccess(digest, now);
    });
  }
}
