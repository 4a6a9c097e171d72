import { createHash } from "node:crypto";
import {
  CONTENT_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  OWNER_ANNOTATION,
  SOURCES_ANNOTATION,
  VERSIONS_ANNOTATION,
} from "../api/names.ts";
import type { SyncResource } from "./sync-resource.ts";
import { isObject } from "../../lib/is-object.ts";

/** The metadata of an existing object of the target's name, as far as ownership and content go. */
export interface TargetMetadata {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** `name` is empty for owners that are not the controller. */
  readonly owners: readonly { readonly uid: string; readonly name: string; readonly controller: boolean }[];
  readonly deleting: boolean;
}

/** What one key of our target holds. */
export interface SyncedKey {
  readonly version: number;
  /** {@link sourceId} of the entry the bytes came from. */
  readonly source: string;
  /** When the vault made that version, in milliseconds; `undefined` where its list does not say. */
  readonly createdAt?: number | undefined;
}

export type TargetState =
  | { readonly state: "absent" }
  | { readonly state: "foreign"; readonly owner: string | undefined }
  | {
      readonly state: "owned";
      readonly uid: string;
      readonly resourceVersion: string;
      /** The content's HMAC as it was written; `undefined` where somebody removed it. */
      readonly content: string | undefined;
      readonly synced: ReadonlyMap<string, SyncedKey>;
      /** Somebody annotationsCorrupted the annotations: the target may hold more keys than `synced` names. */
      readonly annotationsCorrupted: boolean;
    };

/** A short name for one entry of the vault; tells a secret from another of the same version. Names are no secrets, values are. */
export function sourceId(source: string, owner: string | undefined): string {
  return createHash("sha256")
    .update(JSON.stringify([source, owner ?? null]))
    .digest("base64url")
    .slice(0, 16);
}

export const ownerName = (resource: SyncResource): string => `${resource.kind}/${resource.name}`;

/** The members of a JSON object in an annotation that are of the right kind; none where somebody annotationsCorrupted it. `__proto__` is a legal key. */
function parseAnnotation<T>(text: string | undefined, isValid: (value: unknown) => value is T): Map<string, T> {
  try {
    const parsed: unknown = JSON.parse(text ?? "{}");
    const members: [string, unknown][] = isObject(parsed) ? Object.entries(parsed) : [];
    return new Map(members.filter((member): member is [string, T] => isValid(member[1])));
  } catch {
    return new Map();
  }
}

const isVersion = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
/** A source as the annotation writes it: its id, and when the version was made, where that is known. */
export function writtenSource({ source, createdAt }: SyncedKey): string {
  return createdAt === undefined ? source : `${source}@${createdAt}`;
}

function readSource(written: string): Pick<SyncedKey, "source" | "createdAt"> {
  const [source = "", moment] = written.split("@");
  // Digits that come back as the very same number, also fractions of a millisecond: a difference would be a new life of the name.
  const createdAt = Number(moment);
  return Number.isNaN(createdAt) ? { source } : { source, createdAt };
}

const isText = (value: unknown): value is string => typeof value === "string";

/** Only keys of which both the version and the source are known count as synced. Every write of ours names at least one. */
function syncedKeys(annotations: Readonly<Record<string, string>>): {
  synced: Map<string, SyncedKey>;
  annotationsCorrupted: boolean;
} {
  const versions = parseAnnotation(annotations[VERSIONS_ANNOTATION], isVersion);
  const sources = parseAnnotation(annotations[SOURCES_ANNOTATION], isText);
  const synced = new Map<string, SyncedKey>();
  for (const [key, version] of versions) {
    const source = sources.get(key);
    if (source !== undefined) synced.set(key, { version, ...readSource(source) });
  }
  return { synced, annotationsCorrupted: synced.size === 0 || synced.size < Math.max(versions.size, sources.size) };
}

/**
 * Whether an existing object is this resource's to write. It is when our resource is its controller, or when it carries our label and
 * names this resource as its owner (the resource was deleted and made again). Source: design, "takeover of existing Secret".
 */
export function isOwnedBy(resource: SyncResource, metadata: TargetMetadata): boolean {
  if (metadata.owners.some((owner) => owner.controller && owner.uid === resource.uid)) return true;
  // Another controller's object is its own, whatever it is labelled; one of an earlier life of this resource has the same name.
  if (metadata.owners.some((owner) => owner.controller && owner.name !== resource.name)) return false;
  return metadata.labels[MANAGED_BY_LABEL] === MANAGED_BY && metadata.annotations[OWNER_ANNOTATION] === ownerName(resource);
}

export function targetState(resource: SyncResource, metadata: TargetMetadata | undefined): TargetState {
  if (metadata === undefined) return { state: "absent" };
  if (!isOwnedBy(resource, metadata)) return { state: "foreign", owner: metadata.annotations[OWNER_ANNOTATION] };
  return {
    state: "owned",
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    content: metadata.annotations[CONTENT_ANNOTATION],
    ...syncedKeys(metadata.annotations),
  };
}
