import { findCondition } from "../../../src/operator/api/conditions.ts";
import { vaultConnectionKind } from "../../../src/operator/api/kinds.ts";
import type { Condition } from "../../../src/operator/api/status.ts";
import type { Leadership } from "../invariants/leadership.ts";
import { entryKey, type EntryRef } from "./entry-journal.ts";
import { isNamed, mayPushTo, type PushState } from "./push-specs.ts";
import type { PushWorld } from "./push-world.ts";

/** Time in milliseconds for which lists show something until the operator must have seen it. */
const SEEN_MS = 120_000;

/** A list that a process has received. */
export interface ReceivedList extends Pick<EntryRef, "vault" | "owner" | "kind"> {
  readonly user: string;
}

/**
 * Knows the VaultPushes whose entry was replaced by another writer, as lists have shown: they did
 * not create the entry that there is now.
 */
export class ReplacedEntries {
  readonly #scene: PushWorld;
  readonly #leadership: Leadership;
  /** Monotonic times since when all lists of a process show that an entry is replaced. */
  readonly #since = new Map<string, number>();
  /** Uids of VaultPushes with an entry that they created once. */
  readonly #replaced = new Set<string>();

  constructor(scene: PushWorld, leadership: Leadership) {
    this.#scene = scene;
    this.#leadership = leadership;
  }

  /** Takes in that a process receives a list. */
  listed({ user, ...list }: ReceivedList): void {
    const now = this.#scene.world.clock.monotonic();
    for (const ref of this.#scene.journal.created(list)) {
      const key = `${user} ${entryKey(ref)}`;
      if (this.#isReplaced(ref)) {
        const since = this.#since.get(key) ?? now;
        this.#since.set(key, since);
        if (now - since >= SEEN_MS)
          for (const { uid } of this.#pushesThatSee(user, ref))
            this.#replaced.add(`${uid} ${entryKey(ref)}`);
      } else this.#since.delete(key);
    }
  }

  /** Takes in that VaultPushes may have created an entry. */
  created(ref: EntryRef, uids: Iterable<string>): void {
    for (const uid of uids) this.#replaced.delete(`${uid} ${entryKey(ref)}`);
  }

  /** Reports whether the operator must know that a VaultPush did not create an entry. */
  has(ref: EntryRef, uid: string): boolean {
    return this.#replaced.has(`${uid} ${entryKey(ref)}`);
  }

  /** Reports whether every list shows now that an entry is gone, or that another writer created it. */
  #isReplaced(ref: EntryRef): boolean {
    const { world, journal } = this.#scene;
    if (world.hasFaults || world.mayLag || world.vaults.restored.has(ref.vault)) return false;
    const latest = journal.latest(ref);
    return latest === undefined || (latest.version === 1 && latest.by.size === 0);
  }

  /** Returns the VaultPushes for which a process reads this list, and those without the entry. */
  #pushesThatSee(user: string, ref: EntryRef): PushState[] {
    const { pushes, connections } = this.#scene;
    return [...pushes.keys()].flatMap((key) => {
      const push = pushes.throughout(key, SEEN_MS);
      if (push === undefined || push.isDeleting) return [];
      const { namespace, spec } = push;
      const connection = `${namespace}/${spec.connectionRef.name}`;
      const there = connections.throughout(connection, SEEN_MS);
      const isServed =
        this.#scene.slackMs(user, namespace) < Infinity && this.#leadership.leads(user, connection);
      if (there === undefined || !isServed || !this.#isReady(namespace, spec.connectionRef.name))
        return [];
      const items = (spec.data ?? []).filter((item) => isNamed(item, ref));
      const sees = there.email === ref.owner && items.every((one) => mayPushTo(one, there, ref));
      return sees ? [push] : [];
    });
  }

  #isReady(namespace: string, name: string): boolean {
    const object = this.#scene.world.server.find(vaultConnectionKind, { namespace, name });
    const { conditions } = (object?.["status"] ?? {}) as { conditions?: readonly Condition[] };
    return findCondition(conditions, "Ready")?.status === "True";
  }
}
