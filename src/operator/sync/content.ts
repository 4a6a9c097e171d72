import { createHmac } from "node:crypto";
import type { Redacted } from "../../lib/redacted.ts";
import type { TargetKind } from "./sync-resource.ts";
import { formatSource, type SyncedKey } from "./target.ts";
import { utf8Text } from "../lib/utf8-text.ts";

/** The bytes of a target by key. */
export type Content = ReadonlyMap<string, Uint8Array>;

/** Compares entries of a map by the code units of their keys, independently of the locale. */
export const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : 1;

/** Identifies the bytes of one key without storing them. */
export interface BytesDigest {
  /** HMAC of the bytes under the key of the installation. */
  readonly digest: string;
  readonly size: number;
}

/** Returns the digest of the bytes of one key. */
export function bytesDigest(key: Redacted<Uint8Array>, bytes: Uint8Array): BytesDigest {
  return {
    digest: createHmac("sha256", key.reveal()).update("bytes:").update(bytes).digest("base64url"),
    size: bytes.byteLength,
  };
}

/** Returns the digests of the bytes of a target, by key. */
export const bytesDigests = (
  key: Redacted<Uint8Array>,
  content: Content,
): Map<string, BytesDigest> =>
  new Map([...content].map(([name, bytes]) => [name, bytesDigest(key, bytes)]));

/**
 * Returns a digest of the bytes of a target, without the versions and sources that {@link
 * contentDigest} covers: `<id of the key>.<HMAC>`. Two digests with different ids cannot be
 * compared.
 */
export function keysDigest(
  key: Redacted<Uint8Array>,
  keys: ReadonlyMap<string, BytesDigest>,
): string {
  const hmac = (...texts: readonly string[]): string => {
    const sum = createHmac("sha256", key.reveal());
    for (const text of texts) sum.update(`${Buffer.byteLength(text)}:${text}`);
    return sum.digest("base64url");
  };
  const bytes = [...keys].sort(byKey).flatMap(([name, { digest }]) => [name, digest]);
  return `${hmac("key id").slice(0, 6)}.${hmac("keys", ...bytes).slice(0, 22)}`;
}

/** Everything that the digest of a target covers. */
export interface DigestInput {
  /** Type of a Secret; `undefined` for a ConfigMap. */
  readonly type: string | undefined;
  /** The digest of each key. */
  readonly keys: ReadonlyMap<string, BytesDigest>;
  /** The origin that the annotations claim for each key. */
  readonly synced: ReadonlyMap<string, SyncedKey>;
}

/**
 * Returns the base64url HMAC-SHA256 of a target under the key of the installation. It covers what
 * the annotations claim: an edited version or source is noticed like an edited value. It is
 * computed from the digests of the keys: a change of one key does not require the bytes of all
 * keys. Each text is prefixed with its length, and each list with its size: different targets never
 * produce the same input. A plain hash would let a reader of the metadata guess short values.
 */
export function contentDigest(
  key: Redacted<Uint8Array>,
  { type = "", keys, synced }: DigestInput,
): string {
  const hmac = createHmac("sha256", key.reveal());
  const add = (text: string): void => void hmac.update(`${Buffer.byteLength(text)}:${text}`);
  hmac.update("target:");
  add(type);
  hmac.update(`${keys.size}:`);
  for (const [name, { digest }] of [...keys].sort(byKey)) {
    add(name);
    add(digest);
  }
  for (const [name, claim] of [...synced].sort(byKey)) {
    add(name);
    add(`${claim.version}`);
    add(formatSource(claim));
  }
  return hmac.digest("base64url");
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

/**
 * Returns an object without prototype: `__proto__` is a valid key and must be an ordinary property.
 */
const bare = <T>(): Record<string, T> => Object.create(null);

/**
 * Returns the content fields of a Secret or ConfigMap. In a ConfigMap, values that are not UTF-8
 * are stored in `binaryData`.
 */
export function renderContent(
  kind: TargetKind,
  content: Content,
): Record<string, Record<string, string>> {
  const data = bare<string>();
  const binaryData = bare<string>();
  for (const [key, bytes] of [...content].sort(byKey)) {
    const text = kind === "ConfigMap" ? utf8Text(bytes) : undefined;
    if (text !== undefined) data[key] = text;
    else (kind === "Secret" ? data : binaryData)[key] = base64(bytes);
  }
  return kind === "Secret" ? { data } : { data, binaryData };
}

function entriesOf(field: unknown): [string, string][] {
  if (field === null || typeof field !== "object") return [];
  return Object.entries(field).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
}

/** Returns the content of an object of the API server; the inverse of {@link renderContent}. */
export function readContent(
  kind: TargetKind,
  object: { readonly [field: string]: unknown },
): Content {
  const content = new Map<string, Uint8Array>();
  const data = entriesOf(object.data);
  for (const [key, value] of data)
    content.set(key, Buffer.from(value, kind === "Secret" ? "base64" : "utf8"));
  for (const [key, value] of entriesOf(object.binaryData))
    content.set(key, Buffer.from(value, "base64"));
  return content;
}
