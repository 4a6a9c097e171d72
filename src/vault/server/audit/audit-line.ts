import { hash as digest, timingSafeEqual } from "node:crypto";
import { isObject } from "../../../lib/is-object.ts";
import type { KeyRing } from "../crypto/key-ring.ts";
import type { MasterKey } from "../crypto/master-key.ts";

/** JSON fields of a line in addition to its place in the chain. */
export type AuditFields = Readonly<Record<string, unknown>>;

/** End of a chain: the next line has `seq + 1`, and `hash` as its `prev`. */
export interface ChainHead {
  /** Name of the chain, repeated in each line. */
  readonly log: string;
  /** Number of the last line, from 1; 0 before the first line. */
  readonly seq: number;
  /** Hexadecimal SHA-256. */
  readonly hash: string;
}

/** A parsed line. */
export interface AuditLine extends ChainHead {
  readonly prev: string;
  /** Time of writing, ISO 8601 in UTC. */
  readonly time: string;
  readonly fields: AuditFields;
  /**
   * The line without `mac` and `hash`, and its MAC; `undefined` for a line of a release without
   * MACs.
   */
  readonly signed: { readonly text: string; readonly mac: string } | undefined;
}

/** Returns the MAC of a text. */
export type SignLine = (text: string) => string;

/** `prev` of the first line of a chain. */
export const NO_HASH = "0".repeat(64);

const HASH_MEMBER = /^,"hash":"([0-9a-f]{64})"\}$/u;
const HASH_MEMBER_BYTES = `,"hash":"${NO_HASH}"}`.length;
const MAC_MEMBER = /,"mac":"([\w-]+)"\}$/u;
/** Characters that a terminal or another reader of lines could interpret. */
const UNPRINTABLE = /[\p{C}\u2028\u2029]+/gu;

function escaped(characters: string): string {
  let text = "";
  for (let at = 0; at < characters.length; at += 1)
    text += `\\u${characters.charCodeAt(at).toString(16).padStart(4, "0")}`;
  return text;
}

function written(fields: unknown): string {
  return JSON.stringify(fields).replace(UNPRINTABLE, escaped);
}

/** Returns the number of bytes that a text takes in a line. */
export function bytesAsWritten(text: string): number {
  return Buffer.byteLength(written(text)) - '""'.length;
}

/** Number of bytes of the place of a line in the chain, with the newline. */
const CHAIN_BYTES = 325;

/** Returns the number of bytes that a line with these fields takes in the file, to within a few. */
export function lineBytes(fields: AuditFields): number {
  return Buffer.byteLength(written(fields)) + CHAIN_BYTES;
}

function sha256(bytes: string | Uint8Array): string {
  return digest("sha256", bytes);
}

/**
 * Returns a line without its newline, JSON whose last member is the SHA-256 of the line without
 * that member, and the new end of the chain. Before it, `mac` is the MAC of the line without these
 * two: readers without the key can still verify the chain.
 */
export function sealLine(
  head: ChainHead,
  time: string,
  fields: AuditFields,
  sign?: SignLine,
): { readonly text: string; readonly head: ChainHead } {
  const seq = head.seq + 1;
  const text = written({ seq, log: head.log, time, ...fields, prev: head.hash });
  const body = sign ? `${text.slice(0, -1)},"mac":"${sign(text)}"}` : text;
  const hash = sha256(body);
  return { text: `${body.slice(0, -1)},"hash":"${hash}"}`, head: { log: head.log, seq, hash } };
}

/** Parses a line without its newline; returns `undefined` when it is malformed or was altered. */
export function openLine(bytes: Uint8Array): AuditLine | undefined {
  const split = bytes.length - HASH_MEMBER_BYTES;
  if (split < 1) return undefined;
  const [, hash] = HASH_MEMBER.exec(Buffer.from(bytes.subarray(split)).toString("latin1")) ?? [];
  if (hash === undefined) return undefined;
  const body = Buffer.concat([bytes.subarray(0, split), Buffer.from("}")]);
  if (sha256(body) !== hash) return undefined;
  return parseBody(body.toString("utf8"), hash);
}

function parseBody(text: string, hash: string): AuditLine | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(fields)) return undefined;
  const { seq, log, prev, time } = fields;
  if (typeof seq !== "number" || !Number.isSafeInteger(seq)) return undefined;
  if (typeof log !== "string" || typeof prev !== "string" || typeof time !== "string")
    return undefined;
  const [member = "", mac] = MAC_MEMBER.exec(text) ?? [];
  const signed = mac === undefined ? undefined : { mac, text: `${text.slice(0, -member.length)}}` };
  return { log, seq, prev, hash, time, fields, signed };
}

/** Purpose of the derived key. */
const LINE_MAC = "audit line v1";
/** Characters of the id of a master key at the start of a MAC. */
const KEY_ID_LENGTH = 16;

/** Returns the signature of lines under a key that is derived from a master key. */
export function lineSigner(key: MasterKey): SignLine {
  return (text) => key.id + key.mac(LINE_MAC).update(text).digest("base64url");
}

/**
 * `authentic`: a server with one of the master keys has written the line, after those before it.
 * `unknown`: its master key is not among them. `plain`: it has no MAC.
 */
export type LineState = "authentic" | "forged" | "unknown" | "plain";

export function lineState(keys: KeyRing, { signed }: Pick<AuditLine, "signed">): LineState {
  if (!signed) return "plain";
  const key = keys.find(signed.mac.slice(0, KEY_ID_LENGTH));
  if (!key) return "unknown";
  const [found, expected] = [Buffer.from(signed.mac), Buffer.from(lineSigner(key)(signed.text))];
  return found.length === expected.length && timingSafeEqual(found, expected)
    ? "authentic"
    : "forged";
}
