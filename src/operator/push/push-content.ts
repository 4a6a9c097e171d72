import { createHash, createHmac } from "node:crypto";
import type { Redacted } from "../../lib/redacted.ts";
import { utf8Text } from "../lib/utf8-text.ts";
import { bytesDigest, readContent } from "../sync/content.ts";
import type { KubeObject } from "../kube/resource.ts";
import type { PushItem } from "./push-resource.ts";

/** The facts about the bytes of one key that stay in memory. */
export interface KeyFacts {
  /** HMAC of the bytes under the key of the installation. */
  readonly digest: string;
  readonly size: number;
  /** The bytes are UTF-8, as the value of a secret has to be. */
  readonly isText: boolean;
  /** SHA-256 of the bytes, as the vault lists it for files. It never leaves the memory. */
  readonly sha256: string;
}

/**
 * Returns the facts about the bytes of these keys of a Secret. A key that the Secret lacks is
 * omitted.
 */
export function factsOf(
  contentKey: Redacted<Uint8Array>,
  secret: KubeObject,
  keys: Iterable<string>,
): ReadonlyMap<string, KeyFacts> {
  const content = readContent("Secret", secret);
  const facts = new Map<string, KeyFacts>();
  for (const key of keys) {
    const bytes = content.get(key);
    if (bytes !== undefined) facts.set(key, keyFacts(contentKey, bytes));
  }
  return facts;
}

export function keyFacts(contentKey: Redacted<Uint8Array>, bytes: Uint8Array): KeyFacts {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { ...bytesDigest(contentKey, bytes), isText: utf8Text(bytes) !== undefined, sha256 };
}

/**
 * Returns the HMAC that a status shows: of the entry and the digest of its bytes. It includes the
 * entry: two statuses do not reveal that two entries have the same bytes.
 */
export function entryContent(
  contentKey: Redacted<Uint8Array>,
  { kind, name }: PushItem,
  identity: { readonly vault: string; readonly owner: string | undefined },
  digest: string,
): string {
  const text = JSON.stringify([
    identity.vault,
    kind,
    name,
    identity.owner?.toLowerCase() ?? null,
    digest,
  ]);
  return createHmac("sha256", contentKey.reveal()).update("push:").update(text).digest("base64url");
}
