import type { SecretRecord } from "../../../protocol/responses.ts";
import { metadataText } from "../../text/metadata-text.ts";
import { millisecondsOf } from "../../text/timestamp-text.ts";

export type Kind = "all" | "own" | "received" | "given";
export type Order = "name" | "updated" | "expires" | "owner";

/** How somebody looks at the list of secrets. `page` counts from 0. */
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

/** Made once for each record: with ten thousand of them, a keystroke must not make them all again. */
const searchedTexts = new WeakMap<SecretRecord, string>();

function searchedText(secret: SecretRecord): string {
  const known = searchedTexts.get(secret);
  if (known !== undefined) return known;
  const metadata = Object.entries(secret.metadata).map(([name, value]) => `${name}:${metadataText(value)}`);
  const text = [secret.key_name, secret.owner, ...metadata].join("\n").toLowerCase();
  searchedTexts.set(secret, text);
  return text;
}

/** By code point, as the service sorts. */
function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

const comparisons: Readonly<Record<Order, (left: SecretRecord, right: SecretRecord) => number>> = {
  name: (left, right) => compareText(left.key_name, right.key_name),
  updated: (left, right) => millisecondsOf(right.updated_at) - millisecondsOf(left.updated_at),
  expires: (left, right) => millisecondsOf(left.expires_at) - millisecondsOf(right.expires_at),
  owner: (left, right) => compareText(left.owner, right.owner),
};

/** The secrets to show, in order: those of the kind in which every word searched for occurs, in name, owner or metadata. */
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
