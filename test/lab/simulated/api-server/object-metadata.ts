import type { Random } from "../../../../src/lib/random.ts";
import type { KubeObject, ObjectMeta } from "../../../../src/operator/kube/resource.ts";
import { isJson, type Json } from "./json.ts";
import { invalid, StatusError } from "./status-error.ts";

/** Characters of generated names, chosen to form no words. */
const CHARACTERS = "bcdfghjklmnpqrstvwxz2456789";

interface SystemFields {
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly generation: number | undefined;
  readonly random: Random;
}

/** Returns the metadata of a new object. */
export function systemMetadata(
  sent: unknown,
  { uid, creationTimestamp, generation, random }: SystemFields,
): Json {
  const metadata: Json = isJson(sent) ? { ...sent } : {};
  if (metadata["resourceVersion"]) throw new StatusError(500, "InternalError");
  const { generateName } = metadata;
  if (!metadata["name"]) {
    if (typeof generateName !== "string")
      throw invalid({ field: "metadata.name", reason: "FieldValueRequired" });
    const suffix = Array.from(
      { length: 5 },
      () => CHARACTERS[Math.floor(random() * CHARACTERS.length)],
    );
    metadata["name"] = generateName + suffix.join("");
  }
  for (const field of [
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "resourceVersion",
    "generation",
  ]) {
    delete metadata[field];
  }
  return { ...metadata, uid, creationTimestamp, ...(generation !== undefined && { generation }) };
}

/** Fields that a client cannot change; `managedFields` are not stored. */
const FIXED_FIELDS = [
  "managedFields",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "resourceVersion",
] as const;

/**
 * Returns the metadata of a changed object: what a client cannot change comes from the state
 * before.
 */
export function nextMetadata(sent: unknown, before: ObjectMeta): Json {
  const metadata: Json = isJson(sent) ? { ...sent } : {};
  for (const field of FIXED_FIELDS) {
    const value = field === "managedFields" ? undefined : (before as unknown as Json)[field];
    if (value !== undefined) metadata[field] = value;
    // Even to delete what is not there is slow.
    else if (field in metadata) delete metadata[field];
  }
  metadata["uid"] ||= before.uid;
  return metadata;
}

/** Returns the metadata of an object that is deleted when its finalizers are gone. */
export function deletingMetadata(
  metadata: ObjectMeta,
  finalizers: readonly string[],
  deletionTimestamp: string,
): ObjectMeta {
  const { generation } = metadata;
  const marked = { ...metadata, deletionTimestamp, deletionGracePeriodSeconds: 0 };
  return {
    ...marked,
    ...(generation !== undefined && { generation: generation + 1 }),
    ...(finalizers.length > 0 && { finalizers }),
  };
}

/** Removes the empty maps and lists of metadata: the server does not send them. */
export function withoutEmptyFields(object: KubeObject): KubeObject {
  const empty = OPTIONAL_FIELDS.filter((field) => isEmpty(object.metadata[field]));
  if (empty.length === 0) return object;
  const metadata = { ...object.metadata };
  for (const field of empty) delete metadata[field];
  return { ...object, metadata };
}

const OPTIONAL_FIELDS = ["labels", "annotations", "finalizers", "ownerReferences"] as const;

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === "object" && Object.keys(value).length === 0);

/**
 * Times of the writes that made objects what they are, by the metadata of the objects; in
 * milliseconds since the epoch.
 */
export const writtenAt = new WeakMap<object, number>();

/** Formats a time as `metav1.Time`, in whole seconds. */
export const timestampOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
