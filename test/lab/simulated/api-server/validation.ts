import type { KubeErrorCause } from "../../../../src/operator/kube/kube-error.ts";
import type {
  KubeObject,
  OwnerReference,
  ResourceDescriptor,
} from "../../../../src/operator/kube/resource.ts";
import { isEqualJson, isJson, type Json, objectAt } from "./json.ts";
import { badRequest, invalid } from "./status-error.ts";

const MAX_DATA_BYTES = 1_048_576;
const MAX_ANNOTATIONS_BYTES = 262_144;

/**
 * Keys of each type of Secret: all of `all` or one of `one` are required, and `json` must contain
 * JSON.
 */
const SECRET_TYPES: Readonly<
  Record<string, { readonly all?: string[]; readonly one?: string[]; readonly json?: string }>
> = {
  "kubernetes.io/tls": { all: ["tls.crt", "tls.key"] },
  "kubernetes.io/ssh-auth": { all: ["ssh-privatekey"] },
  "kubernetes.io/basic-auth": { one: ["username", "password"] },
  "kubernetes.io/dockerconfigjson": { all: [".dockerconfigjson"], json: ".dockerconfigjson" },
  "kubernetes.io/dockercfg": { all: [".dockercfg"], json: ".dockercfg" },
};

const cause = (field: string, reason: string): KubeErrorCause => ({ field, reason });
const malformed = (field: string): KubeErrorCause => cause(field, "FieldValueInvalid");
const required = (field: string): KubeErrorCause => cause(field, "FieldValueRequired");

/**
 * Sets what the server sets by default, and decodes what it decodes. @throws StatusError for a body
 * that it cannot decode
 */
export function withDefaults({ kind }: ResourceDescriptor, object: Json): Json {
  if (kind === "Secret") {
    const { stringData, ...rest } = object;
    const data = { ...decoded(object["data"]), ...encoded(stringData) };
    return withoutEmpty({ ...rest, data, type: object["type"] || "Opaque" });
  }
  if (kind === "ConfigMap") {
    texts(object["data"]);
    return withoutEmpty({ ...object, binaryData: decoded(object["binaryData"]) });
  }
  if (kind === "Lease") return { spec: {}, ...object };
  return object;
}

/** Returns the object, or throws the error when the server cannot decode it. */
export function decodable(resource: ResourceDescriptor, object: Json, error: () => Error): Json {
  if (resource.kind !== "Secret" && resource.kind !== "ConfigMap") return object;
  try {
    withDefaults(resource, object);
  } catch {
    throw error();
  }
  return object;
}

/** Removes `data` and `binaryData` without a key: the server does not send them. */
function withoutEmpty(object: Json): Json {
  const result = { ...object };
  for (const field of ["data", "binaryData"])
    if (Object.keys(objectAt(object, field)).length === 0) delete result[field];
  return result;
}

function decoded(data: unknown): Json {
  return Object.fromEntries(
    Object.entries(isJson(data) ? data : {}).map(([key, value]) => {
      if (value === null) return [key, ""];
      if (typeof value !== "string" || !/^[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*$/.test(value))
        throw badRequest();
      const text = value.replace(/[\r\n]/g, "");
      if (text.length % 4 !== 0) throw badRequest();
      return [key, Buffer.from(text, "base64").toString("base64")];
    }),
  );
}

function encoded(data: unknown): Json {
  return Object.fromEntries(
    Object.entries(texts(data)).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
}

function texts(data: unknown): Record<string, string> {
  const entries = Object.entries(isJson(data) ? data : {});
  if (entries.some(([, value]) => typeof value !== "string")) throw badRequest();
  return Object.fromEntries(entries) as Record<string, string>;
}

/**
 * @throws StatusError when the server would reject the object; `before` is the state that it
 * replaces
 */
export function validate(
  { kind, group }: ResourceDescriptor,
  object: KubeObject,
  before: KubeObject | undefined,
): void {
  const causes = metadataCauses(object, before);
  if (group === "" && kind === "Secret") causes.push(...secretCauses(object, before));
  if (group === "" && kind === "ConfigMap")
    causes.push(...dataCauses(object, ["data", "binaryData"]), ...immutable(object, before));
  if (kind === "Event" && before) causes.push(...eventCauses(object, before));
  if (causes.length > 0) throw invalid(...causes);
}

function metadataCauses(
  { metadata }: KubeObject,
  before: KubeObject | undefined,
): KubeErrorCause[] {
  const causes: KubeErrorCause[] = [];
  const { labels = {}, annotations = {}, ownerReferences = [], finalizers = [] } = metadata;
  const was = before?.metadata;
  // What was stored is valid: most writes do not change the metadata.
  if (metadata.name !== was?.name && !isObjectName(metadata.name))
    causes.push(malformed("metadata.name"));
  if (!isEqualJson(labels, was?.labels)) causes.push(...labelCauses(labels));
  if (!isEqualJson(annotations, was?.annotations)) causes.push(...annotationCauses(annotations));
  if (!isEqualJson(ownerReferences, was?.ownerReferences))
    causes.push(...ownerCauses(ownerReferences));
  if (was && metadata.uid !== was.uid) causes.push(malformed("metadata.uid"));
  const added = finalizers.filter((name) => !(was?.finalizers ?? []).includes(name));
  if (was?.deletionTimestamp && added.length > 0)
    causes.push(cause("metadata.finalizers", "FieldValueForbidden"));
  return causes;
}

function labelCauses(labels: Readonly<Record<string, string>>): KubeErrorCause[] {
  const causes: KubeErrorCause[] = [];
  for (const [name, value] of Object.entries(labels)) {
    if (!isQualifiedName(name)) causes.push(malformed("metadata.labels"));
    if (!/^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/.test(value) || value.length > 63)
      causes.push(malformed("metadata.labels"));
  }
  return causes;
}

function annotationCauses(annotations: Readonly<Record<string, string>>): KubeErrorCause[] {
  const causes: KubeErrorCause[] = [];
  for (const name of Object.keys(annotations)) {
    if (!isQualifiedName(name.toLowerCase())) causes.push(malformed("metadata.annotations"));
  }
  const bytes = Object.entries(annotations).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name + value),
    0,
  );
  if (bytes > MAX_ANNOTATIONS_BYTES)
    causes.push(cause("metadata.annotations", "FieldValueTooLong"));
  return causes;
}

function ownerCauses(ownerReferences: readonly OwnerReference[]): KubeErrorCause[] {
  const causes: KubeErrorCause[] = [];
  for (const reference of ownerReferences) {
    for (const field of ["apiVersion", "kind", "name", "uid"] as const) {
      if (!reference[field]) causes.push(malformed(`metadata.ownerReferences.${field}`));
    }
  }
  if (ownerReferences.filter(({ controller }) => controller).length > 1)
    causes.push(malformed("metadata.ownerReferences"));
  return causes;
}

const isObjectName = (name: string): boolean => /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name);

function isQualifiedName(name: string): boolean {
  const [first = "", second, ...more] = name.split("/");
  if (second === undefined) return isNamePart(first);
  return more.length === 0 && isObjectName(first) && isNamePart(second);
}

function isNamePart(part: string): boolean {
  return /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(part);
}

function secretCauses(object: KubeObject, before: KubeObject | undefined): KubeErrorCause[] {
  const causes = [...dataCauses(object, ["data"]), ...immutable(object, before)];
  const type = String(object["type"]);
  if (before && type !== before["type"]) causes.push(malformed("type"));
  const { all = [], one = [], json } = SECRET_TYPES[type] ?? {};
  const data = objectAt(object, "data");
  causes.push(...all.filter((key) => !(key in data)).map((key) => required(`data[${key}]`)));
  if (one.length > 0 && !one.some((key) => key in data))
    causes.push(...one.map((key) => required(`data[${key}]`)));
  if (json !== undefined && json in data && !isJsonText(data[json]))
    causes.push(malformed(`data[${json}]`));
  return causes;
}

function isJsonText(base64: unknown): boolean {
  try {
    return isJson(JSON.parse(Buffer.from(String(base64), "base64").toString()));
  } catch {
    return false;
  }
}

function dataCauses(object: KubeObject, fields: readonly string[]): KubeErrorCause[] {
  const causes: KubeErrorCause[] = [];
  let bytes = 0;
  for (const field of fields) {
    for (const [key, value] of Object.entries(objectAt(object, field))) {
      const isKey = /^[-._a-zA-Z0-9]{1,253}$/.test(key) && key !== "." && !key.startsWith("..");
      const isTwice = field === "data" && key in objectAt(object, "binaryData");
      if (!isKey || isTwice) causes.push(malformed(`${field}[${key}]`));
      const text = String(value);
      bytes +=
        field === "data" && object.kind === "ConfigMap"
          ? Buffer.byteLength(text)
          : Buffer.byteLength(text, "base64");
    }
  }
  if (bytes > MAX_DATA_BYTES)
    causes.push(cause(object.kind === "Secret" ? "data" : "", "FieldValueTooLong"));
  return causes;
}

function immutable(object: KubeObject, before: KubeObject | undefined): KubeErrorCause[] {
  if (before?.["immutable"] !== true) return [];
  const fields = ["data", "binaryData"].filter(
    (field) => !isEqualJson(objectAt(object, field), objectAt(before, field)),
  );
  if (object["immutable"] !== true) fields.push("immutable");
  return fields.map((field) => cause(field, "FieldValueForbidden"));
}

/** Only the series of an event may change. */
function eventCauses(object: KubeObject, before: KubeObject): KubeErrorCause[] {
  const fixed = [
    "regarding",
    "type",
    "reason",
    "action",
    "note",
    "reportingController",
    "reportingInstance",
    "eventTime",
  ];
  return fixed
    .filter((field) => !isEqualJson(object[field], before[field]))
    .map((field) => malformed(field));
}
