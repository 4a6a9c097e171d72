import { KubeError } from "../kube-error.ts";
import type { ListPage, WatchEvent } from "./kube-api.ts";
import {
  apiVersionOf,
  type KubeObject,
  type ObjectMeta,
  type ResourceDescriptor,
} from "../resource.ts";
import { isObject } from "../../../lib/is-object.ts";
import { shared, shareStrings } from "../../lib/shared-strings.ts";

export interface DecodedList {
  readonly page: ListPage;
  /** The `continue` token of the next page; empty after the last one. */
  readonly next: string;
}

/**
 * Decodes an object of the API server. Checks only the metadata that this package uses; the caller
 * parses the rest. Sets `apiVersion` and `kind`, because items of built-in lists and metadata-only
 * responses lack them. Drops `managedFields`, because they may be larger than the rest. Equal
 * strings are shared, except in `data`, because it may contain values of secrets.
 * @throws KubeError `Unexpected` when the metadata is missing
 */
export function decodeObject(
  resource: ResourceDescriptor,
  value: unknown,
  operation: string,
): KubeObject {
  if (!isObject(value) || !isMeta(value["metadata"])) throw unreadable(operation);
  const { managedFields: _, ...metadata } = value["metadata"];
  for (const part of [metadata, value["spec"], value["status"]]) shareStrings(part);
  return { ...value, apiVersion: shared(apiVersionOf(resource)), kind: resource.kind, metadata };
}

/** Decodes one page of a list. @throws KubeError `Unexpected` when the value is not a list */
export function decodeList(
  resource: ResourceDescriptor,
  value: unknown,
  operation: string,
): DecodedList {
  if (!isObject(value) || !isObject(value["metadata"])) throw unreadable(operation);
  const { metadata } = value;
  const items = value["items"] ?? [];
  const { resourceVersion, continue: next = "" } = metadata;
  if (!Array.isArray(items) || typeof resourceVersion !== "string" || typeof next !== "string")
    throw unreadable(operation);
  return {
    page: { items: items.map((item) => decodeObject(resource, item, operation)), resourceVersion },
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
): WatchEvent {
  if (!isObject(value)) throw unreadable(operation);
  const object = value["object"];
  switch (value["type"]) {
    case "ADDED":
      return { type: "added", object: decodeObject(resource, object, operation) };
    case "MODIFIED":
      return { type: "modified", object: decodeObject(resource, object, operation) };
    case "DELETED":
      return { type: "deleted", object: decodeObject(resource, object, operation) };
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
