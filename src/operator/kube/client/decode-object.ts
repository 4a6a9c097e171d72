import { KubeError } from "../kube-error.ts";
import type { ListOptions, ListPage, WatchEvent } from "./kube-api.ts";
import {
  apiVersionOf,
  type KubeObject,
  type ObjectMeta,
  type ResourceDescriptor,
} from "../resource.ts";
import { isObject } from "../../../lib/is-object.ts";
import { defined } from "../../lib/defined.ts";
import { shared, shareStrings } from "../../lib/shared-strings.ts";

type DecodeOptions = Pick<ListOptions, "managedFields">;

export interface DecodedList {
  readonly page: ListPage;
  /** The `continue` token of the next page; empty after the last one. */
  readonly next: string;
}

/**
 * Decodes an object of the API server. Checks only the metadata that this package uses; the caller
 * parses the rest. Sets `apiVersion` and `kind`, because items of built-in lists and metadata-only
 * responses lack them. Drops `managedFields`, because they may be larger than the rest, unless the
 * caller needs them. Equal strings are shared, except in `data`, because it may contain values of
 * secrets.
 * @throws KubeError `Unexpected` when the metadata is missing
 */
export function decodeObject(
  resource: ResourceDescriptor,
  value: unknown,
  operation: string,
  { managedFields: isManaged = false }: DecodeOptions = {},
): KubeObject {
  if (!isObject(value) || !isMeta(value["metadata"])) throw unreadable(operation);
  const { managedFields, ...others } = value["metadata"];
  const metadata = isManaged ? { ...others, ...defined({ managedFields }) } : others;
  for (const part of [metadata, value["spec"], value["status"]]) shareStrings(part);
  return { ...value, apiVersion: shared(apiVersionOf(resource)), kind: resource.kind, metadata };
}

/** Decodes one page of a list. @throws KubeError `Unexpected` when the value is not a list */
export function decodeList(
  resource: ResourceDescriptor,
  value: unknown,
  operation: string,
  options?: DecodeOptions,
): DecodedList {
  if (!isObject(value) || !isObject(value["metadata"])) throw unreadable(operation);
  const { metadata } = value;
  const items = value["items"] ?? [];
  const { resourceVersion, continue: next = "" } = metadata;
  if (!Array.isArray(items) || typeof resourceVersion !== "string" || typeof next !== "string")
    throw unreadable(operation);
  return {
    page: {
      items: items.map((item) => decodeObject(resource, item, operation, options)),
      resourceVersion,
    },
    next,
  };
}

/**
 * Decodes a watch event other than ERROR (see `statusOfErrorEvent`). @throws KubeError `Unexpected`
 */
export function decodeEvent(
  resource: ResourceDescriptor,
  value: unknown,
  operation: string,
  options?: DecodeOptions,
): WatchEvent {
  if (!isObject(value)) throw unreadable(operation);
  const object = value["object"];
  const decoded = () => decodeObject(resource, object, operation, options);
  switch (value["type"]) {
    case "ADDED":
      return { type: "added", object: decoded() };
    case "MODIFIED":
      return { type: "modified", object: decoded() };
    case "DELETED":
      return { type: "deleted", object: decoded() };
    case "BOOKMARK":
      return { type: "bookmark", resourceVersion: bookmarkOf(object, operation) };
    default:
      throw unreadable(operation);
  }
}

/** Reports whether a line ends the initial events of a streamed list. */
export function isEndOfInitialEvents(value: unknown): boolean {
  const object = isObject(value) && value["type"] === "BOOKMARK" ? value["object"] : undefined;
  const metadata = isObject(object) ? object["metadata"] : undefined;
  const annotations = isObject(metadata) ? metadata["annotations"] : undefined;
  return isObject(annotations) && annotations["k8s.io/initial-events-end"] === "true";
}

/** Returns the Status of an ERROR event, or `undefined` for any other line. */
export function statusOfErrorEvent(value: unknown): unknown {
  return isObject(value) && value["type"] === "ERROR" ? (value["object"] ?? null) : undefined;
}

function bookmarkOf(object: unknown, operation: string): string {
  const metadata = isObject(object) ? object["metadata"] : undefined;
  const resourceVersion = isObject(metadata) ? metadata["resourceVersion"] : undefined;
  if (typeof resourceVersion !== "string") throw unreadable(operation);
  return resourceVersion;
}

/** Checks the name only: the types of the other fields are guaranteed by the API server. */
function isMeta(value: unknown): value is ObjectMeta {
  return isObject(value) && typeof value["name"] === "string";
}

function unreadable(operation: string): KubeError {
  return new KubeError({ kind: "Unexpected", operation, reason: "UnreadableResponse" });
}
