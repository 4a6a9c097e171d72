import type { SecretRecord } from "../../../../protocol/responses.ts";
import { metadataText } from "../../text/metadata-text.ts";
import { searchFor, folded, pageOf, queryOf } from "../../text/search.ts";
import { millisecondsOf } from "../../text/formats.ts";

/** Texts by list. Kept, because each keystroke searches up to ten thousand secrets. */
const searchedTexts = new WeakMap<readonly SecretRecord[], readonly (readonly string[])[]>();

/** Returns a function that folds metadata, each value of a name once: most secrets have the same. */
function metadataFolding(): (name: string, value: unknown) => string {
  const known = new Map<string, Map<unknown, string>>();
  return (name, value) => {
    const former = known.get(name)?.get(value);
    if (former !== undefined) return former;
    const text = folded(`${name}:${metadataText(value)}`);
    known.set(name, (known.get(name) ?? new Map<unknown, string>()).set(value, text));
    return text;
  };
}

/** Returns what a search reads of each secret, folded: its name, its owner and its metadata. */
function textsOf(secrets: readonly SecretRecord[]): readonly (readonly string[])[] {
  const known = searchedTexts.get(secrets);
  if (known) return known;
  const foldedMetadata = metadataFolding();
  const texts = secrets.map(({ key_name: name, owner, metadata }) => [
    folded(name),
    folded(owner),
    ...Object.keys(metadata).map((key) => foldedMetadata(key, metadata[key])),
  ]);
  searchedTexts.set(secrets, texts);
  return texts;
}

const kinds = ["all", "own", "received", "given"] as const;
export const orders = ["name", "updated", "expires", "owner"] as const;
export const expiries = ["", "expired", "soon"] as const;
export type Kind = (typeof kinds)[number];
export type Order = (typeof orders)[number];
/** Selects secrets that have expired, or expire in 14 days; an empty one passes everything. */
export type Expiry = (typeof expiries)[number];

/** Maximum number of rows on a page: a list of ten thousand renders as fast as one of fifty. */
export const PAGE_SIZE = 50;

/** Time in ms before its expiry from which a version expires soon. */
const SOON_MS = 14 * 86_400_000;

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
  readonly expiry: Expiry;
  readonly order: Order;
  /** Shows the order from its end. */
  readonly reversed: boolean;
  /** Shows the environments in the folder next to each other. */
  readonly compared: boolean;
  /** Shows only the compared names that an environment lacks. */
  readonly gaps: boolean;
  readonly page: number;
}

export const firstView: ListView = {
  search: "",
  kind: "all",
  environment: "",
  folder: "",
  expiry: "",
  order: "name",
  reversed: false,
  compared: false,
  gaps: false,
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

function expiresWithin(
  { expired, expires_at: at }: SecretRecord,
  expiry: Expiry,
  now: number,
): boolean {
  if (expiry === "") return true;
  return expiry === "expired" ? expired : !expired && millisecondsOf(at) <= now + SOON_MS;
}

function metadataOf({ metadata }: SecretRecord, name: string): string {
  return metadataText(metadata[name] ?? "");
}

function environmentOf(secret: SecretRecord): string {
  return metadataOf(secret, "environment_type");
}

/** Maximum number of texts, and of folders, to choose from: other users name received secrets. */
const MAX_CHOICES = 200;

/** Returns the texts of the metadata of this name, the most frequent ones first. */
export function frequentMetadata(secrets: readonly SecretRecord[], name: string): string[] {
  const counts = new Map<string, number>();
  for (const secret of secrets) {
    const text = metadataOf(secret, name);
    if (text !== "") counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].sort(([, left], [, right]) => right - left).map(([text]) => text);
}

/** Returns the most frequent texts of the metadata of this name, in order. */
export function metadataChoices(secrets: readonly SecretRecord[], name: string): string[] {
  return frequentMetadata(secrets, name).slice(0, MAX_CHOICES).sort(compareText);
}

/** A folder in a folder. */
export interface Folder {
  /** The last part of its path. */
  readonly name: string;
  readonly path: string;
  /** Number of secrets in it and in its folders. */
  readonly count: number;
}

/** Returns the start of the names in a folder. */
export const startIn = (folder: string): string => (folder === "" ? "" : `${folder}/`);

/** Returns the folders directly in a folder, those with the most secrets if there are too many. */
export function foldersIn(secrets: readonly SecretRecord[], folder: string): readonly Folder[] {
  const start = startIn(folder);
  const counts = new Map<string, number>();
  for (const { key_name: name } of secrets) {
    const end = name.indexOf("/", start.length);
    if (end < 0 || !name.startsWith(start)) continue;
    const path = name.slice(0, end);
    if (end > start.length) counts.set(path, (counts.get(path) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, left], [, right]) => right - left)
    .slice(0, MAX_CHOICES)
    .sort(([left], [right]) => compareText(left, right))
    .map(([path, count]) => ({ name: path.slice(start.length), path, count }));
}

/** Returns the path of a folder and of the folders around it, the outermost first. */
export function pathsTo(folder: string): readonly string[] {
  const parts = folder === "" ? [] : folder.split("/");
  return parts.map((_, at) => parts.slice(0, at + 1).join("/"));
}

/** Returns the folder of a name: an empty one without a slash. */
export function folderOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf("/")));
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
  { search, kind, environment, folder, expiry, order, reversed }: ListView,
  email: string,
  now: number,
): SecretRecord[] {
  const isFound = searchFor(search);
  const texts = search === "" ? [] : textsOf(secrets);
  const start = startIn(folder);
  const selected = secrets
    .filter(
      (secret, at) =>
        isOfKind(secret, kind, email) &&
        secret.key_name.startsWith(start) &&
        (environment === "" || environmentOf(secret) === environment) &&
        expiresWithin(secret, expiry, now) &&
        isFound(texts[at] ?? []),
    )
    .sort(comparisons[order]);
  return reversed ? selected.toReversed() : selected;
}

/** Parses the view in the address of the list. Unknown values count as absent. */
export function parseView(query: string): ListView {
  const given = new URLSearchParams(query);
  return {
    search: given.get("search") ?? "",
    kind: kinds.find((kind) => kind === given.get("kind")) ?? firstView.kind,
    environment: given.get("environment") ?? "",
    folder: given.get("folder") ?? "",
    expiry: expiries.find((expiry) => expiry === given.get("expiry")) ?? firstView.expiry,
    order: orders.find((order) => order === given.get("order")) ?? firstView.order,
    reversed: given.get("reversed") === "yes",
    compared: given.get("compared") === "yes",
    gaps: given.get("gaps") === "yes",
    page: pageOf(given),
  };
}

/** Returns where the list of this query is: the start of new names, and an environment or none. */
export function placeIn(query: string): { readonly prefix: string; readonly environment: string } {
  const { folder, environment } = parseView(query);
  return { prefix: startIn(folder), environment };
}

/** Returns the environment in use that a name starts with: `prod` of `prod/shop`. */
export function environmentIn(name: string, secrets: readonly SecretRecord[]): string | undefined {
  const start = name.includes("/") ? name.slice(0, name.indexOf("/")) : "";
  return metadataChoices(secrets, "environment_type").includes(start) ? start : undefined;
}

/** Returns the query of a new secret that starts with this name and environment. */
export function wantedQuery(name: string, environment: string): string {
  return queryOf({ name, environment });
}

/** Returns the place in the query of a new secret, unless the query names none. */
export function wantedIn(query: string): ReturnType<typeof placeIn> | undefined {
  const given = new URLSearchParams(query);
  const prefix = given.get("name") ?? "";
  return prefix === "" ? undefined : { prefix, environment: given.get("environment") ?? "" };
}

/** Formats a view for the address, without what equals the first view. */
export function viewQuery(view: ListView): string {
  const { kind, order, reversed, compared, gaps, page, ...texts } = view;
  return queryOf({
    ...texts,
    kind: kind === firstView.kind ? "" : kind,
    order: order === firstView.order ? "" : order,
    reversed: reversed ? "yes" : "",
    compared: compared ? "yes" : "",
    gaps: gaps ? "yes" : "",
    page: page === 0 ? "" : String(page + 1),
  });
}
