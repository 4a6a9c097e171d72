import { timingSafeEqual } from "node:crypto";
import type { KeyRing } from "../crypto/key-ring.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import { currentKey } from "../store/current-key.ts";
import type { Transaction } from "../store/store.ts";
import type { ChainHead } from "./audit-line.ts";

const KNOWN_LOGS = "audit_logs";
/** Purpose of the derived key. */
const ANCHOR_MAC = "audit anchor v1";

function settingOf(log: string): string {
  return `audit_log.${log}`;
}

/** The end of a log that the database remembers. */
export interface Anchor extends ChainHead {
  /**
   * Hexadecimal HMAC under a key that is derived from the current master key; empty in data of a
   * release without it.
   */
  readonly mac: string;
}

function macOf(key: MasterKey, { log, seq, hash }: ChainHead): Buffer {
  return key.mac(ANCHOR_MAC).update(`${log} ${seq} ${hash}`).digest();
}

function anchorText(key: MasterKey, head: ChainHead): string {
  return `${head.seq} ${head.hash} ${macOf(key, head).toString("hex")}`;
}

function isSignedBy(key: MasterKey, anchor: Anchor): boolean {
  const mac = Buffer.from(anchor.mac, "hex");
  const expected = macOf(key, anchor);
  return mac.length === expected.length && timingSafeEqual(mac, expected);
}

type Settings = Pick<Transaction, "settings">;

/**
 * Returns the last recorded end of a log. It is stored in the database, out of reach of a change to
 * the file.
 */
export async function readAnchor({ settings }: Settings, log: string): Promise<Anchor | undefined> {
  const text = (await settings.get(settingOf(log))) ?? "";
  const [, seq, hash, mac = ""] = /^([0-9]+) ([0-9a-f]{64})(?: ([0-9a-f]{64}))?$/u.exec(text) ?? [];
  return seq === undefined || hash === undefined ? undefined : { log, seq: Number(seq), hash, mac };
}

/**
 * Reports whether a server with the current master key has recorded an end. @throws Error when the
 * key ring does not have that key
 */
export async function isAuthentic(
  keys: KeyRing,
  transaction: Transaction,
  anchor: Anchor,
): Promise<boolean> {
  return isSignedBy(await currentKey(keys, transaction), anchor);
}

/** Returns the names of all logs that this store was served with. */
export async function knownLogs({ settings }: Settings): Promise<string[]> {
  const known = await settings.get(KNOWN_LOGS);
  return known === undefined ? [] : known.split(" ");
}

/** Reports whether this end of a log is recorded. */
export async function isRecorded(
  keys: KeyRing,
  transaction: Transaction,
  head: ChainHead,
): Promise<boolean> {
  return (
    (await transaction.settings.get(settingOf(head.log))) ===
    anchorText(await currentKey(keys, transaction), head)
  );
}

/** Records the end of a log. */
export async function recordAnchor(
  keys: KeyRing,
  transaction: Transaction,
  head: ChainHead,
): Promise<void> {
  const { settings } = transaction;
  await settings.set(settingOf(head.log), anchorText(await currentKey(keys, transaction), head));
  const logs = await knownLogs(transaction);
  if (!logs.includes(head.log)) await settings.set(KNOWN_LOGS, [...logs, head.log].join(" "));
}

/** Records again, for a new master key, the ends that the former one authenticates. */
export async function resignAnchors(
  transaction: Settings,
  from: MasterKey,
  to: MasterKey,
): Promise<void> {
  for (const log of await knownLogs(transaction)) {
    const anchor = await readAnchor(transaction, log);
    if (anchor && isSignedBy(from, anchor))
      await transaction.settings.set(settingOf(log), anchorText(to, anchor));
  }
}
