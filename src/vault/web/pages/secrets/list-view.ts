import type { SecretRecord } from "../../../../protocol/responses.ts";
import { metadataText } from "../../text/metadata-text.ts";
import { millisecondsOf } from "../../text/timestamp-text.ts";
import { pageOf, queryOf } from "../../text/query-text.ts";

const kinds = ["all", "own", "received", "given"] as const;
export const orders = ["name", "updated", "expires", "owner"] as const;
export type Kind = (typeof kinds)[number];
export type Order = (typeof orders)[number];

/**
 * Search, filters, order and page of the list of secrets. `page` starts at 0; an empty filter
 * passes everything.
 */
export interface ListView {
  readonly search: string;
  readonly kind: Kind;
  readonly environment: string;
  /**
   * The folder of a name is the part up to a slash: `prod` and `prod/checkout` for
   * `prod/checkout/db`.
   */
  readonly folder: string;
  readonly order: Order;
  readonly page: number;
}

export const firstView: ListView = {
  search: "",
  kind: "all",
  environment: "",
  folder: "",
  order: "name",
  page: 0,
};

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

function metadataOf({ metadata }: SecretRecord, name: string): string {
  return metadataText(metadata[name] ?? "");
}

function environmentOf(secret: SecretRecord): string {
  return metadataOf(secret, "environment_type");
}

/**
 * Levels of folders, and maximum number of environments and of folders, to choose from: other users
 * name received secrets.
 */
const FOLDER_LEVELS = 2;
const MAX_CHOICES = 200;

/** Returns the outer folders of a name, the outermost first. */
function foldersOf(name: string): string[] {
  const parts = name.split("/", FOLDER_LEVELS + 1);
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join("/"));
}

/** Returns the most frequent texts, in order. */
function choicesOf(texts: Iterable<string>): string[] {
  const counts = new Map<string, number>();
  for (const text of texts) if (text !== "") counts.set(text, (counts.get(text) ?? 0) + 1);
  const frequent = [...counts].sort(([, left], [, right]) => right - left).slice(0, MAX_CHOICES);
  return frequent.map(([text]) => text).sort(compareText);
}

/** Returns the most frequent texts of the metadata of this name, in order. */
export function metadataChoices(secrets: readonly SecretRecord[], name: string): string[] {
  return choicesOf(secrets.map((secret) => metadataOf(secret, name)));
}

/**
 * Returns the environments and the folders that the list can be filtered by, those with the most
 * secrets if there are too many.
 */
export function filtersOf(secrets: readonly SecretRecord[]): {
  readonly environments: readonly string[];
  readonly folders: readonly string[];
} {
  return {
    environments: metadataChoices(secrets, "environment_type"),
    folders: choicesOf(
      secrets.flatMap(({ key_name }) => (key_name.includes("/") ? foldersOf(key_name) : [])),
    ),
  };
}

/** Search texts by record. Cached, because each keystroke searches up to ten thousand records. */
const searchedTexts = new WeakMap<SecretRecord, string>();

function searchedText(secret: SecretRecord): string {
  const known = searchedTexts.get(secret);
  if (known !== undefined) return known;
  const metadata = Object.entries(secret.metadata).map(
    ([name, value]) => `${name}:${metadataText(value)}`,
  );
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

/**
 * Returns the secrets that pass the filters and contain every search word in name, owner or
 * metadata, in order.
 */
export function selectSecrets(
  secrets: readonly SecretRecord[],
  { search, kind, environment, folder, order }: ListView,
  email: string,
): SecretRecord[] {
  const words = search.toLowerCase().split(/\s+/u).filter(Boolean);
  return secrets
    .filter((secret) => isOfKind(secret, kind, email))
    .filter((secret) => environment === "" || environmentOf(secret) === environment)
    .filter(({ key_name }) => folder === "" || key_name.startsWith(`${folder}/`))
    .filter((secret) => {
      const text = words.length > 0 ? searchedText(secret) : "";
      return words.every((word) => text.includes(word));
    })
    .sort(comparisons[order]);
}

/** Parses the view in the address of the list. Unknown values count as absent. */
export function parseView(query: string): ListView {
  const given = new URLSearchParams(query);
  return {
    search: given.get("search") ?? "",
    kind: kinds.find((kind) => kind === given.get("kind")) ?? firstView.kind,
    environment: given.get("environment") ?? "",
    folder: given.get("folder") ?? "",
    order: orders.find((order) => order === given.get("order")) ?? firstView.order,
    page: pageOf(given),
  };
}

/** Formats a view for the address, without what equals the first view. */
export function viewQuery({ search, kind, environment, folder, order, page }: ListView): string {
  return queryOf({
    search,
    kind: kind === firstView.kind ? "" : kind,
    environment,
    folder,
    order: order === firstView.order ? "" : order,
    page: page === 0 ? "" : String(page + 1),
  });
}
