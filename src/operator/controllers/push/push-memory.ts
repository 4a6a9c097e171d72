import type { PushItemStatus, PushStatus } from "../../api/vault-push.ts";
import type { RepairCount } from "../outcome/repair-count.ts";
import type { Failure } from "../outcome/outcome.ts";
import type { PushOutcome } from "./push-outcome.ts";
import type { KeyFacts } from "../../push/push-content.ts";
import type { SeenEntry } from "../../push/follow-entry.ts";
import { itemId, type PushItem } from "../../push/push-resource.ts";

/** Bytes of the vault that were read to compare them. */
interface ComparedVersion {
  readonly version: number;
  readonly createdAt: string | undefined;
  /** HMAC of the bytes under the key of the installation. */
  readonly digest: string;
}

/**
 * A push that the vault rejected. It is not repeated for the same bytes, spec and connection before
 * this time.
 */
interface RejectedPush {
  readonly content: string;
  /** Fingerprint of the connection. */
  readonly connection: string;
  readonly generation: number;
  readonly version: number | undefined;
  /** Monotonic, in milliseconds. */
  readonly until: number;
  readonly failure: Failure;
}

/**
 * Knowledge of one process about a VaultPush, in addition to its status. Items are named by {@link
 * itemId}.
 */
export interface PushMemory {
  readonly uid: string;
  /** The vault that the records are about. */
  vault: string | undefined;
  /** The last push of each item. More recent than the status while that cannot be written. */
  readonly records: Map<string, PushItemStatus>;
  /** The state of the Secret that was read last. */
  source:
    | {
        readonly resourceVersion: string;
        readonly keys: ReadonlySet<string>;
        readonly facts: ReadonlyMap<string, KeyFacts>;
      }
    | undefined;
  /** The result of `followEntry` for each entry that this resource created. */
  readonly seen: Map<string, SeenEntry>;
  readonly compared: Map<string, ComparedVersion>;
  /** Pushes whose result is unknown. */
  readonly uncertain: Map<string, UncertainPush>;
  readonly repairs: Map<string, RepairCount>;
  readonly rejected: Map<string, RejectedPush>;
  /** Pushes that no event reports yet, because writing the status failed. */
  readonly unreported: PushOutcome[];
}

/** A push whose result is unknown. */
interface UncertainPush {
  /** It created the entry, if it succeeded. */
  readonly creates: boolean;
  /** Content that it pushed; `undefined`: a version with it was found, and counted. */
  readonly content: string | undefined;
}

/**
 * Records that an entry has a content. Returns whether that shows, for the first time, that a push
 * whose result was unknown has succeeded.
 */
export function confirmPush({ uncertain }: PushMemory, id: string, content: string): boolean {
  const push = uncertain.get(id);
  if (push?.content !== content) return false;
  uncertain.set(id, { ...push, content: undefined });
  return true;
}

/** Returns the memory of a resource that this process has not reconciled before. */
export function newMemory(uid: string, { vault, items = [] }: PushStatus): PushMemory {
  return {
    uid,
    vault,
    records: new Map(items.map((item) => [idOf(item), item])),
    source: undefined,
    seen: new Map(items.map((item) => [idOf(item), item.missing === true ? "gone" : item])),
    compared: new Map(),
    uncertain: new Map(),
    repairs: new Map(),
    rejected: new Map(),
    unreported: [],
  };
}

/** Forgets everything about the entries of another vault or account. */
export function followVault(memory: PushMemory, vault: string): void {
  if (memory.vault === vault) return;
  for (const each of entriesIn(memory)) each.clear();
  memory.vault = vault;
}

/** Forgets everything about the entries that the spec does not name: they are not followed. */
export function forgetOthers(memory: PushMemory, items: readonly PushItem[]): void {
  const ids = new Set(items.map(itemId));
  for (const each of entriesIn(memory))
    for (const id of each.keys()) if (!ids.has(id)) each.delete(id);
}

const entriesIn = (memory: PushMemory): readonly Map<string, unknown>[] => [
  memory.records,
  memory.seen,
  memory.compared,
  memory.uncertain,
  memory.repairs,
  memory.rejected,
];

const idOf = ({ key = "", filename }: PushItemStatus): string =>
  itemId(filename === undefined ? { kind: "secret", name: key } : { kind: "file", name: filename });
