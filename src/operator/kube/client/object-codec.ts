import { KubeError } from "../kube-error.ts";
import type { ListPage, WatchEvent } from "./kube-api.ts";
import { apiVersionOf, type KubeObject, type ObjectMeta, type ResourceDescriptor } from "../resource.ts";
import { isObject } from "../../../lib/is-object.ts";

export interface Continued {
  readonly page: ListPage;
  /** Where the next page is; empty after the last. */
  readonly next: string;
}

/**
 * An object as the API server sends it. Only what this room relies on is checked, because the rest is for the caller to parse; the
 * items of built-in lists and metadata-only answers come without the object's own kind, so it is put in.
 * @throws KubeError `Unexpected` when it has no metadata
 */
export function decodeObject(resource: ResourceDescriptor, value: unknown, operation: string): KubeObject {
  if (!isObject(value) || !isMeta(value["metadata"])) throw unreadable(operation);
  const { metadata } = value;
  return { ...value, apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
}

/** @throws KubeError `Unexpected` when it is no list */
export function decodeList(resource: ResourceDescriptor, value: unknown, operation: string): Continued {
  if (!isObject(value) || !isObject(value["metadata"])) throw unreadable(operation);
  const { metadata } = value;
  const items = value["items"] ?? [];
  const { resourceVersion, continue: next = "" } = metadata;
  if (!Array.isArray(items) || typeof resourceVersion !== "string" || typeof next !== "string") throw unreadable(operation);
  return { page: { items: items.map((item) => decodeObject(resource, item, operation)), resourceVersion }, next };
}

/** An ERROR event is not decoded here: the client turns it into the error it stands for. @throws KubeError `Unexpected` */
export function decodeEvent(resource: ResourceDescriptor, value: unknown, operation: string): WatchEvent {
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

/** The Status of an ERROR event; `undefined` for any other line. */
export function statusOfErrorEvent(value: unknown): unknown {
  return isObject(value) && value["type"] === "ERROR" ? (value["object"] ?? null) : undefined;
}

function bookmarkOf(object: unknown, operation: string): string {
  const metadata = isObject(object) ? object["metadata"] : undefined;
  const resourceVersion = isObject(metadata) ? metadata["resourceVersion"] : undefined;
  if (typeof resourceVersion !== "string") throw unreadable(operation);
  return resourceVersion;
}

/** The server's own types make the other fields what `ObjectMeta` says. */
function isMeta(value: unknown): value is ObjectMeta {
  return isObject(value) && typeof value["name"] === "string";
}

function unreadable(operation: string): KubeError {
  return new KubeError({ kind: "Unexpected", operation, reason: "UnreadableAnswer" });
}
