import { hash } from "node:crypto";
import { API_GROUP } from "../api/kinds.ts";
import {
  ADOPT_ANNOTATION,
  CONFIRM_REMOVALS_ANNOTATION,
  CONTENT_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  MERGED_LABEL,
  OWNER_ANNOTATION,
  SOURCES_ANNOTATION,
  VERSIONS_ANNOTATION,
} from "../api/names.ts";
import { hasManagedMetadata } from "./managed-metadata.ts";
import { mergeAnnotation, mergedKeysOf, parseClaims } from "./merged-claims.ts";
import { isMerged, type SyncResource } from "./sync-resource.ts";
import { defined } from "../lib/defined.ts";
import { isObject } from "../../lib/is-object.ts";
import { withoutTrailingSlashes } from "../../lib/without-trailing-slashes.ts";

/**
 * The metadata of an existing object that has the name of the target, as far as it concerns
 * ownership and content.
 */
export interface TargetMetadata {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /**
   * `name` is empty, and there are no `group` and `kind`, for owners that are not the controller.
   */
  readonly owners: readonly {
    readonly uid: string;
    readonly name: string;
    readonly group?: string;
    readonly kind?: string;
    readonly controller: boolean;
  }[];
  readonly deleting: boolean;
}

/** Origin of the bytes that a target has of one item. */
export interface SyncedKey {
  readonly version: number;
  /** {@link sourceId} of the entry the bytes came from. */
  readonly source: string;
  /** Creation time of that version in milliseconds; `undefined` if the vault does not list it. */
  readonly createdAt?: number | undefined;
  /** The `form` of the item when the bytes were stored. */
  readonly form?: string | undefined;
  /** The rule and the name of a source that the spec does not name: see `foundText`. */
  readonly found?: string | undefined;
}

/** The origins of the keys of a target, by item. */
export type Claims = ReadonlyMap<string, SyncedKey>;

/**
 * State of the object that has the name of the target; `foreign` if it does not belong to the
 * resource.
 */
export type TargetState =
  | { readonly state: "absent" }
  | {
      readonly state: "foreign";
      readonly owner: string | undefined;
      /** The object that controls it, `<kind>/<name>`. */
      readonly controller?: string | undefined;
      /** The resource added keys to it when its policy was `Merge`. */
      readonly hasMergedKeys?: true;
    }
  | {
      readonly state: "owned";
      readonly uid: string;
      readonly resourceVersion: string;
      /** HMAC of the content when it was written; `undefined` if the annotation was removed. */
      readonly content: string | undefined;
      readonly synced: Claims;
      /** The keys that the resource merged; `undefined`: the keys of `synced`. */
      readonly mergedKeys?: ReadonlySet<string> | undefined;
      /**
       * The annotations are malformed or incomplete: the target may have more keys than `synced`.
       */
      readonly annotationsCorrupted: boolean;
      /** Its owners, labels and annotations match the spec. */
      readonly hasMetadata: boolean;
      /**
       * Its owner hands the object over: nothing in it is of this resource yet. `confirmed`: the
       * number of keys whose removal a user confirms.
       */
      readonly adoption?: { readonly confirmed: string | undefined };
      /**
       * Its owner hands the keys of the spec over to the resource that merges them. The names are
       * of further resources that get keys.
       */
      readonly handsOver?: readonly string[];
    };

/** Returns the claims of the objects among these that belong to the resource. */
export const ownClaims = (states: readonly TargetState[]): Claims[] =>
  states.flatMap((one) => (one.state === "owned" ? [one.synced] : []));

/** Returns a short digest of a JSON value. It is not keyed: do not use it for values of secrets. */
export const shortDigest = (identity: readonly unknown[]): string =>
  hash("sha256", JSON.stringify(identity), "base64url").slice(0, 16);

/**
 * Returns a short digest that identifies an account of a vault. It covers the whole base URL,
 * because several vaults may share one origin. It is not keyed: addresses and names are not secret,
 * values are.
 */
export function vaultId(url: string, account: string): string {
  return shortDigest([withoutTrailingSlashes(new URL(url).href), account.toLowerCase()]);
}

/**
 * Returns the identity of a connection. A deadline that one connection listed says nothing about
 * the list of another connection or scope.
 */
export function connectionId(uid: string, vault: string, scope: unknown): string {
  return shortDigest([uid, vault, scope ?? null]);
}

/**
 * Returns the identity of an entry: the identity of its vault and a short digest of the entry's
 * name and owner.
 */
export function sourceId(vault: string, source: string, owner: string | undefined): string {
  return `${vault}.${shortDigest([source, owner ?? null])}`;
}

/**
 * Returns the identities of the entry of an owner: lists and specs may spell an address differently.
 */
export const entryIds = (vault: string, source: string, owner: string): readonly string[] =>
  [...new Set([owner, owner.toLowerCase()])].map((spelling) => sourceId(vault, source, spelling));

/** Returns the same of the entries of several owners; `undefined`: one that no list names. */
export const idsOfEntries = (
  vault: string,
  source: string,
  owners: readonly (string | undefined)[],
): ReadonlySet<string> =>
  new Set(
    owners.flatMap((owner) =>
      owner === undefined ? sourceId(vault, source, owner) : entryIds(vault, source, owner),
    ),
  );

/** Reports whether the source of a synced key is an entry of this vault. */
export const isFromVault = ({ source }: SyncedKey, vault: string): boolean =>
  source.startsWith(`${vault}.`);

/** Returns the value of the owner annotation. */
export const ownerName = (resource: SyncResource): string => `${resource.kind}/${resource.name}`;

/**
 * Returns the valid members of a JSON object in an annotation, none if it is malformed. `__proto__`
 * is a valid key.
 */
function parseAnnotation<T>(
  text: string | undefined,
  isValid: (value: unknown) => value is T,
): Map<string, T> {
  try {
    const parsed: unknown = JSON.parse(text ?? "{}");
    const members: [string, unknown][] = isObject(parsed) ? Object.entries(parsed) : [];
    return new Map(members.filter((member): member is [string, T] => isValid(member[1])));
  } catch {
    return new Map();
  }
}

const isVersion = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0;

/**
 * Reports whether two versions of one number may be the same one. A vault need not say when it
 * created a version.
 */
export function sameCreation(one: number | undefined, other: number | undefined): boolean {
  return one === undefined || other === undefined || one === other;
}

const marked = (mark: string, part: string | number | undefined): string =>
  part === undefined ? "" : `${mark}${part}`;

/**
 * Formats a source for the annotation: its id, and, if there are, the creation time of the version,
 * the form, and what found it. What found it comes last, because it ends with a name: names may
 * contain any character.
 */
export function formatSource({ source, createdAt, form, found }: SyncedKey): string {
  return `${source}${marked("@", createdAt)}${marked("#", form)}${marked("=", found)}`;
}

function parseSource(written: string): Omit<SyncedKey, "version"> {
  // Neither ids nor digests nor numbers contain the marks.
  const mark = written.indexOf("=");
  const found = mark < 0 ? undefined : written.slice(mark + 1);
  const [origin = "", form] = (mark < 0 ? written : written.slice(0, mark)).split("#");
  const [source = "", timestamp] = origin.split("@");
  // The number survives the round trip exactly, including fractions: any difference would mean that
  // the entry was recreated.
  const createdAt = Number(timestamp);
  return { source, ...(!Number.isNaN(createdAt) && { createdAt }), ...defined({ form, found }) };
}

const isText = (value: unknown): value is string => typeof value === "string";

/**
 * Returns the keys whose version and source are both known. Every write of the operator records at
 * least one.
 */
export function syncedKeys(annotations: Readonly<Record<string, string>>): {
  synced: Map<string, SyncedKey>;
  annotationsCorrupted: boolean;
} {
  const versions = parseAnnotation(annotations[VERSIONS_ANNOTATION], isVersion);
  const sources = parseAnnotation(annotations[SOURCES_ANNOTATION], isText);
  const synced = new Map<string, SyncedKey>();
  for (const [key, version] of versions) {
    const source = sources.get(key);
    if (source !== undefined) synced.set(key, { version, ...parseSource(source) });
  }
  return {
    synced,
    annotationsCorrupted: synced.size === 0 || synced.size < Math.max(versions.size, sources.size),
  };
}

const isControlledBy = ({ uid }: SyncResource, { owners }: TargetMetadata): boolean =>
  owners.some((owner) => owner.controller && owner.uid === uid);

/** Returns the `<kind>/<name>` of a controller that is a resource of the operator. */
const controllerName = ({
  group,
  kind,
  name,
}: TargetMetadata["owners"][number]): string | undefined =>
  group === API_GROUP ? `${kind}/${name}` : undefined;

/**
 * Returns the `<kind>/<name>` of each resource that an object may belong to; {@link isOwnedBy} says
 * whether it does.
 */
export function possibleOwners({ owners, annotations }: TargetMetadata): ReadonlySet<string> {
  const names = [
    annotations[OWNER_ANNOTATION],
    ...owners.filter(({ controller }) => controller).map(controllerName),
  ];
  return new Set(names.filter((name) => name !== undefined));
}

/**
 * Reports whether an existing object belongs to this resource: the resource is its controller, or
 * the object has the operator's label and names the resource as its owner, because the resource was
 * deleted and recreated. See docs/design/security.md#target-takeover.
 */
export function isOwnedBy(resource: SyncResource, metadata: TargetMetadata): boolean {
  if (isControlledBy(resource, metadata)) return true;
  // An object with another controller belongs to that one, whatever its labels. A deleted resource
  // of the same kind and name does not count.
  if (
    metadata.owners.some(
      (owner) => owner.controller && controllerName(owner) !== ownerName(resource),
    )
  )
    return false;
  return (
    metadata.labels[MANAGED_BY_LABEL] === MANAGED_BY &&
    metadata.annotations[OWNER_ANNOTATION] === ownerName(resource)
  );
}

/**
 * Reports whether the owner of an object hands it over to this resource. No other resource may be
 * its controller.
 */
function isAdopted(resource: SyncResource, { annotations, owners }: TargetMetadata): boolean {
  return (
    annotations[ADOPT_ANNOTATION] === ownerName(resource) &&
    owners.every(({ controller }) => !controller)
  );
}

/** Returns the resources that the owner of an object hands its keys over to, as `<kind>/<name>`. */
const adoptersOf = ({ annotations }: TargetMetadata): string[] =>
  annotations[ADOPT_ANNOTATION]?.split(",").map((name) => name.trim()) ?? [];

/**
 * Reports whether the owners are right: under `Owner` this resource is the controller (if it is a
 * deleted one of the same name, Kubernetes deletes the target), under `Orphan` nothing is.
 */
function hasOwners(resource: SyncResource, metadata: TargetMetadata): boolean {
  if (resource.policy.creationPolicy === "Owner") return isControlledBy(resource, metadata);
  return metadata.owners.every(({ uid, controller }) => !controller && uid !== resource.uid);
}

/**
 * Reports whether the metadata that the operator writes, except for the facts about the content, is
 * what the spec requests.
 */
function hasMetadata(resource: SyncResource, metadata: TargetMetadata): boolean {
  const { annotations } = metadata;
  const isHandedOver =
    annotations[ADOPT_ANNOTATION] === undefined &&
    annotations[OWNER_ANNOTATION] === ownerName(resource);
  const isMergedInto = annotations[mergeAnnotation(resource)] !== undefined;
  return (
    isHandedOver &&
    !isMergedInto &&
    hasOwners(resource, metadata) &&
    hasManagedMetadata(resource.policy, metadata)
  );
}

/**
 * Returns the state of a target whose annotations are not those that the operator wrote. Its
 * versions are the ones that the status reported last: an edit can neither hide a version that went
 * back nor claim one. See docs/design/engine.md#identity-of-target-bytes.
 */
export function withoutClaims(
  state: TargetState,
  reported: (id: string, claim: SyncedKey) => number | undefined,
): TargetState {
  if (state.state !== "owned") return state;
  const synced = [...state.synced].flatMap(([key, claim]): [string, SyncedKey][] => {
    const version = reported(key, claim);
    return version === undefined ? [] : [[key, { ...claim, version }]];
  });
  return { ...state, synced: new Map(synced), annotationsCorrupted: true };
}

/**
 * Returns the state of an object that the resource merges keys into: a part of it is owned, unless
 * it is the target of another resource as a whole.
 */
function mergedState(resource: SyncResource, metadata: TargetMetadata): TargetState {
  const { uid, resourceVersion, annotations, labels, owners } = metadata;
  const named = labels[MANAGED_BY_LABEL] === MANAGED_BY ? annotations[OWNER_ANNOTATION] : undefined;
  const owner =
    owners.flatMap((one) => (one.controller ? (controllerName(one) ?? []) : []))[0] ?? named;
  if (owner !== undefined && owner !== ownerName(resource)) return { state: "foreign", owner };
  const claims = parseClaims(resource, annotations);
  const content = claims[CONTENT_ANNOTATION];
  const mergedKeys = mergedKeysOf(resource, annotations);
  const adopters = adoptersOf(metadata);
  const isHandedOver = adopters.includes(ownerName(resource));
  const facts = {
    hasMetadata: labels[MERGED_LABEL] !== undefined && !isHandedOver,
    mergedKeys,
    ...syncedKeys(claims),
    ...(isHandedOver && { handsOver: adopters.filter((name) => name !== ownerName(resource)) }),
  };
  return { state: "owned", uid, resourceVersion, content, ...facts };
}

/**
 * Returns the state of a target from its metadata; `undefined` means that no such object exists.
 */
export function targetState(
  resource: SyncResource,
  metadata: TargetMetadata | undefined,
): TargetState {
  if (metadata === undefined) return { state: "absent" };
  if (isMerged(resource)) return mergedState(resource, metadata);
  if (!isOwnedBy(resource, metadata) && !isAdopted(resource, metadata)) {
    const controller = metadata.owners.find((owner) => owner.controller);
    const named = controller && `${controller.kind ?? "object"}/${controller.name}`;
    const hasMergedKeys = metadata.annotations[mergeAnnotation(resource)] !== undefined;
    const owner = metadata.annotations[OWNER_ANNOTATION];
    return { state: "foreign", owner, controller: named, ...(hasMergedKeys && { hasMergedKeys }) };
  }
  return {
    state: "owned",
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    content: metadata.annotations[CONTENT_ANNOTATION],
    hasMetadata: hasMetadata(resource, metadata),
    ...(!isOwnedBy(resource, metadata) && {
      adoption: { confirmed: metadata.annotations[CONFIRM_REMOVALS_ANNOTATION] },
    }),
    ...syncedKeys(metadata.annotations),
  };
}
