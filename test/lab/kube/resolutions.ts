import { candidate, ownedTarget, syncItem, syncResource, VAULT } from "./sync-resource.ts";
import type { Decision } from "../../../src/operator/sync/decide.ts";
import type { Resolution } from "../../../src/operator/sync/resolution.ts";
import type { SyncItem } from "../../../src/operator/sync/sync-resource.ts";
import { type SyncedKey, sourceId, type TargetState } from "../../../src/operator/sync/target.ts";

const OWNER = "ops@example.com";
const DEADLINE = Date.UTC(2026, 10, 20);

export const found = (
  item: SyncItem,
  version: number,
  sizes?: ReadonlyMap<number, number>,
): Resolution => ({
  state: "found",
  item,
  candidate: candidate(version, { sizes }),
  version,
});
export const removed = (item: SyncItem): Resolution => ({
  state: "removed",
  item,
  deleteAt: DEADLINE,
  deletion: "due",
});
export const retained = (item: SyncItem): Resolution => ({
  state: "removed",
  item,
  deleteAt: DEADLINE,
});
export const deleted = (item: SyncItem): Resolution => ({
  state: "missing",
  item,
  deletion: "due",
});
export const held = (item: SyncItem): Resolution => ({ state: "missing", item, deletion: "held" });
export const missing = (item: SyncItem): Resolution => ({ state: "missing", item });

export const syncedKey = (source: string, version: number): SyncedKey => ({
  version,
  source: sourceId(VAULT, source, OWNER),
});

export function owned(
  synced: Readonly<Record<string, number>>,
  changes: { annotationsCorrupted?: boolean; content?: string; hasMetadata?: boolean } = {},
): TargetState {
  const keys = Object.entries(synced).map(
    ([key, version]) => [key, syncedKey(key, version)] as const,
  );
  return ownedTarget(new Map(keys), changes);
}
export const sized = (size: number): ReadonlyMap<number, number> => new Map([[1, size]]);
export const absent: TargetState = { state: "absent" };
export const handedOver = ownedTarget(new Map(), { adoption: { confirmed: undefined } });

/** Formats a plan in one line: `write a=target@3 b=vault@4`. */
export function summary({ plan }: Decision): string {
  if (plan.action === "keep" || plan.action === "delete") return plan.action;
  const entries = plan.entries.map((entry) =>
    entry.from === "target"
      ? `${entry.id}=target@${entry.synced.version}`
      : `${entry.id}=vault@${entry.fetch.version}`,
  );
  return [plan.action, ...entries].join(" ");
}

export const a = syncItem("a");
export const b = syncItem("b");
export const both = syncResource([a, b]);
