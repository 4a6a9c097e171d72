import type { SecretRecord } from "../../../protocol/responses.ts";
import { metadataText } from "../../text/metadata-text.ts";
import { millisecondsOf } from "../../text/timestamp-text.ts";

export type Kind = "all" | "own" | "received" | "given";
export type Order = "name" | "updated" | "expires" | "owner";

/** Search, filter, order and page of the list of secrets. `page` starts at 0. */
export interface ListView {
  readonly search: string;
  readonly kind: Kind;
  readonly order: Order;
  readonly page: number;
}

export const firstView: ListView = { search: "", kind: "all", order: "name", page: 0 };

function isOfKind(secret: SecretRecord, kind: Kind, email: string): boolean {
  const own = secret.owner === email;
  switch (kind) {
    case "all":
      return true;
    case "own":
      return own;
    case "received":
      return !own;
    case "given":
      return own && secret.shared;
  }
}

/** Search texts by record. Cached, because each keystroke searches up to ten thousand records. */
const searchedTexts = new WeakMap<SecretRecord, string>();

function searchedText(secret: SecretRecord): string {
  const known = searchedTexts.get(secret);
  if (known !== undefined) return known;
  const metadata = Object.entries(secret.metadata).map(([name, value]) => `${name}:${metadataText(value)}`);
  const text = [secret.key_name, secret.owner, ...metadata].join("\n").toLowerCase();
  searchedTexts.set(secret, text);
  return text;
}

/** Compares by code point, as the vault sorts. */
function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

const comparisons: Readonly<Record<Order, (left: SecretRecord, right: SecretRecord) => number>> = {
  name: (left, right) => compareText(left.key_name, right.key_name),
  updated: (left, right) => millisecondsOf(right.updated_at) - millisecondsOf(left.updated_at),
  expires: (left, right) => millisecondsOf(left.expires_at) - millisecondsOf(right.expires_at),
  owner: (left, right) => compareText(left.owner, right.owner),
};

/** Returns the secrets of the kind that contain every search word in name, owner or metadata, in order. */
export function selectSecrets(
  secrets: readonly SecretRecord[],
  { search, kind, order }: ListView,
  email: string,
): SecretRecord[] {
  const words = search.toLowerCase().split(/\s+/u).filter(Boolean);
  return secrets
    .filter((secret) => isOfKind(secret, kind, email))
    .filter((secret) => {
      const text = words.length > 0 ? searchedText(secret) : "";
      return words.every((word) => text.includes(word));
    })
    .sort(comparisons[order]);
}
