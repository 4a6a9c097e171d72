import { jsonOrUndefined } from "../../lib/json-or-undefined.ts";
import { createHash } from "node:crypto";
import { z } from "zod";
import {
  CONTENT_ANNOTATION,
  FIELD_MANAGER,
  MERGE_DOMAIN,
  SOURCES_ANNOTATION,
  VERSIONS_ANNOTATION,
} from "../api/names.ts";
import type { SyncResource } from "./sync-resource.ts";

/** Maximum length of the name of an annotation without its domain, and of a field manager. */
const MAX_NAME_LENGTH = 63;
const MAX_MANAGER_LENGTH = 128;

const digestOf = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 16);

/**
 * Returns the name of the annotation in which a resource records what it merged into an object.
 * Each resource has a separate annotation: several resources can merge into one object.
 */
export function mergeAnnotation({ kind, name }: SyncResource): string {
  const readable = `${kind.toLowerCase()}.${name}`;
  const unique =
    readable.length <= MAX_NAME_LENGTH ? readable : `${kind.toLowerCase()}.${digestOf(name)}`;
  return `${MERGE_DOMAIN}/${unique}`;
}

/**
 * Returns the field manager of what a resource merges: one for each, because an apply removes what
 * the same manager omits.
 */
export function mergeManager({ kind, name }: SyncResource): string {
  const readable = `${FIELD_MANAGER}:${kind}/${name}`;
  return readable.length <= MAX_MANAGER_LENGTH
    ? readable
    : `${FIELD_MANAGER}:${kind}/${digestOf(name)}`;
}

const claims = z.object({
  content: z.string(),
  versions: z.string(),
  sources: z.string(),
  keys: z.array(z.string()).optional(),
});

/**
 * Formats the annotations about the content of a target as one annotation of a merged object.
 * `keys` are the merged keys, if they differ from the keys of the sources.
 */
export function formatClaims(
  annotations: Readonly<Record<string, string>>,
  keys?: readonly string[],
): string {
  return JSON.stringify({
    content: annotations[CONTENT_ANNOTATION],
    versions: annotations[VERSIONS_ANNOTATION],
    sources: annotations[SOURCES_ANNOTATION],
    keys,
  });
}

function readClaims(
  resource: SyncResource,
  annotations: Readonly<Record<string, string>>,
): z.output<typeof claims> | undefined {
  const text = annotations[mergeAnnotation(resource)];
  return text === undefined ? undefined : claims.safeParse(jsonOrUndefined(text)).data;
}

/**
 * Returns the annotations that a resource would have on a separate target; none if it has not
 * merged anything.
 */
export function parseClaims(
  resource: SyncResource,
  annotations: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const read = readClaims(resource, annotations);
  if (read === undefined) return {};
  const { content, versions, sources } = read;
  return {
    [CONTENT_ANNOTATION]: content,
    [VERSIONS_ANNOTATION]: versions,
    [SOURCES_ANNOTATION]: sources,
  };
}

/**
 * Returns the keys that a resource merged into an object; `undefined` if they are the keys of its
 * sources.
 */
export function mergedKeysOf(
  resource: SyncResource,
  annotations: Readonly<Record<string, string>>,
): ReadonlySet<string> | undefined {
  const keys = readClaims(resource, annotations)?.keys;
  return keys && new Set(keys);
}
