import type { PushItemStatus } from "../../api/vault-push.ts";
import { defined } from "../../lib/defined.ts";
import { followEntry } from "../../push/follow-entry.ts";
import { listedVersion, ownEntry } from "../../push/listed-entry.ts";
import { itemId, type PushItem } from "../../push/push-resource.ts";
import type { PushReport } from "../../push/push-status.ts";
import type { OpenConnection } from "../connection/connection-state.ts";
import type { PushMemory } from "./push-memory.ts";

/**
 * Takes from the latest list whether another writer replaced entries that a resource created: also
 * while they are not pushed.
 */
export function followEntries(
  { records, seen, vault }: PushMemory,
  items: readonly PushItem[],
  access: OpenConnection,
): void {
  const { snapshot } = access.connection;
  if (snapshot === undefined || access.vault !== vault) return;
  for (const item of items) {
    const id = itemId(item);
    const record = records.get(id);
    if (record?.created !== true || !snapshot.covers(item.kind, item.name)) continue;
    const { record: listed } = ownEntry(item, snapshot, access.account);
    const now = followEntry(record, seen.get(id), listed && listedVersion(listed));
    if (now === "replaced") records.set(id, marked(record, { created: undefined }));
    if (now === "replaced" || now === undefined) seen.delete(id);
    else seen.set(id, now);
  }
}

/** Returns what the status shows of the entries of a spec; `undefined` if nothing was pushed. */
export function shownRecords(
  { records, seen, vault }: PushMemory,
  items: readonly PushItem[],
): PushReport["pushed"] {
  if (vault === undefined) return undefined;
  const shown = items.flatMap((item) => {
    const record = records.get(itemId(item));
    if (record === undefined) return [];
    const isMissing = record.created === true && seen.get(itemId(item)) === "gone";
    return marked(record, { missing: isMissing ? true : undefined });
  });
  return { vault, items: shown };
}

const marked = (
  { secretKey, version, content, ...record }: PushItemStatus,
  marks: Pick<PushItemStatus, "created" | "missing">,
): PushItemStatus => ({ secretKey, version, content, ...defined({ ...record, ...marks }) });
