import { defined } from "../../lib/defined.ts";
import { apiVersionOf } from "../../kube/resource.ts";
import { vaultSecretKind } from "../../api/kinds.ts";
import { targetPolicies } from "../../api/target-policies.ts";
import { vaultSecretSpec } from "../../api/vault-secret.ts";
import { formatPath, type Manifest } from "../manifests/manifest.ts";
import { FieldReader, type ReportField } from "./field-reader.ts";
import { liquidTemplateOf, jsonPointerOf } from "./converted-texts.ts";

/** A VaultSecret that replaces an ExternalSecret, as far as its fields can be carried over. */
export interface ConvertedSecret {
  readonly object: { readonly spec: object };
  /** Name of the existing target. */
  readonly target: string;
  /**
   * The former operator deletes the Secret with the ExternalSecret, unless its policy is changed
   * before.
   */
  readonly isDeletedWithSource: boolean;
}

const LEFT_OUT =
  /^(kubectl\.kubernetes\.io|external-secrets\.io|reconcile\.external-secrets\.io)\//u;

/**
 * Returns the metadata of the new object: name, namespace, labels, and annotations that belong to
 * neither kubectl nor the old operator.
 */
export function metadataOf({ metadata, name }: Manifest): object {
  const { namespace, labels, annotations } = metadata;
  const kept = Object.entries(annotations ?? {}).filter(([key]) => !LEFT_OUT.test(key));
  return defined({
    name,
    namespace,
    labels,
    annotations: kept.length === 0 ? undefined : Object.fromEntries(kept),
  });
}

const SELECTED_STORE =
  "a SecretStore of each namespace has no counterpart: spec.connectionRef is a ClusterVaultConnection of its name";

/** Returns the connection of a resource, or of one with targets in several namespaces. */
function connectionRefOf(spec: FieldReader, isFanOut: boolean): object {
  const store = spec.object("secretStoreRef");
  const name = store?.text("name");
  const kind = store?.oneOf(
    "kind",
    ["SecretStore", "ClusterSecretStore"],
    "is not a kind of store",
  );
  if (isFanOut && store !== undefined && kind !== "ClusterSecretStore")
    store.problem("kind", SELECTED_STORE);
  store?.end();
  const wanted = isFanOut ? "ClusterVaultConnection" : "VaultConnection";
  if (name === undefined)
    spec.problem("secretStoreRef", `is missing: set spec.connectionRef to a ${wanted}`);
  return {
    ...((isFanOut || kind === "ClusterSecretStore") && { kind: "ClusterVaultConnection" }),
    name: name ?? "vault",
  };
}

function versionOf(reference: FieldReader): number | undefined {
  const version = reference.text("version");
  if (version === undefined || /^(latest)?$/iu.test(version)) return undefined;
  const [number] = /^[1-9][0-9]{0,8}$/u.exec(version.replace(/^v/u, "")) ?? [];
  if (number === undefined)
    reference.problem("version", "versions are positive integers here; the latest one is used");
  return number === undefined ? undefined : Number(number);
}

function decodingOf(reference: FieldReader): string | undefined {
  const message =
    "None, Base64 and Base64URL can be carried over: set decoding to the one that fits";
  const decoding = reference.oneOf("decodingStrategy", ["None", "Base64", "Base64URL"], message);
  return decoding === "None" ? undefined : decoding;
}

/**
 * Reads the fields that say how keys and metadata are read; only their defaults can be carried
 * over.
 */
function readStrategies(reference: FieldReader): void {
  const message = "only the default can be carried over";
  reference.oneOf("conversionStrategy", ["Default"], message);
  reference.oneOf(
    "metadataPolicy",
    ["None"],
    `${message}: the metadata of an entry is not its value`,
  );
  reference.oneOf("nullBytePolicy", ["Ignore"], message);
}

function dataEntry(entry: FieldReader): object {
  const secretKey = entry.text("secretKey");
  const reference = entry.object("remoteRef");
  const key = reference?.text("key");
  const property = reference?.text("property");
  const pointer = property === undefined ? undefined : jsonPointerOf(property);
  if (property !== undefined && pointer === undefined)
    reference?.problem(
      "property",
      "only a path of names and indexes can be carried over: set property to a JSON Pointer",
    );
  const remoteRef =
    reference &&
    defined({
      key,
      version: versionOf(reference),
      property: pointer,
      decoding: decodingOf(reference),
    });
  if (reference !== undefined) readStrategies(reference);
  reference?.end();
  entry.end();
  return defined({ secretKey, remoteRef });
}

function rewriteOf(rule: FieldReader): object | undefined {
  const regexp = rule.object("regexp");
  const source = regexp?.text("source");
  const target = regexp?.text("target") ?? "";
  regexp?.end();
  rule.end();
  return source === undefined ? undefined : { regexp: { source, target } };
}

/**
 * The rule for keys without rules of their own: by conversionStrategy Default, each character that
 * a key must not have becomes an underscore.
 */
const VALID_KEYS = { regexp: { source: "[^-._a-zA-Z0-9]", target: "_" } };

/** Matches regular expressions that match every name. */
const MATCHES_ALL = /^\^?\.[*+]\$?$/u;

const escapeRegExp = (text: string): string =>
  text.replaceAll(/[\\^$.*+?()[\]{}|]/gu, String.raw`\$&`);

/** Returns the rule for names. A path is the beginning of every name that it finds. */
function nameRule(find: FieldReader): object | undefined {
  const name = find.object("name");
  const regexp = name?.text("regexp");
  name?.end();
  const path = find.text("path") ?? "";
  if (path === "") return regexp === undefined ? undefined : { regexp };
  if (regexp !== undefined && !MATCHES_ALL.test(regexp))
    find.problem(
      "path",
      `write one regular expression for path and name.regexp, which is ${regexp}`,
    );
  return { regexp: `^${escapeRegExp(path)}` };
}

function dataFromEntry(entry: FieldReader): object {
  const extract = entry.object("extract");
  const find = entry.object("find");
  const rules = entry.list("rewrite").map(rewriteOf);
  const rewrite = rules.length === 0 ? [VALID_KEYS] : rules.filter((rule) => rule !== undefined);
  const extracted = extract && defined({ key: extract.text("key"), version: versionOf(extract) });
  const found = find && defined({ name: nameRule(find), metadata: find.texts("tags") });
  for (const reader of [extract, find]) {
    if (reader === undefined) continue;
    readStrategies(reader);
    if (decodingOf(reader) !== undefined)
      reader.problem("decodingStrategy", "has no counterpart for several keys");
    reader.end();
  }
  entry.end();
  return defined({ extract: extracted, find: found, rewrite });
}

/** Returns the policies for removed entries that come closest. */
function removalPolicies(target: FieldReader | undefined): object {
  const policy =
    target?.oneOf("deletionPolicy", ["Retain", "Delete", "Merge"], "is not a policy") ?? "Retain";
  if (policy === "Retain") return { whenRemoved: "Retain" };
  if (policy === "Merge")
    target?.problem(
      "deletionPolicy",
      "Merge becomes Delete: the target is deleted with its last key",
    );
  return { whenRemoved: "Delete", whenMissing: "Delete" };
}

/** Returns the templates, if all of them can be carried over. */
function templatesOf(template: FieldReader): object | undefined {
  template.oneOf("engineVersion", ["v2"], "only v2 can be carried over");
  template.oneOf(
    "mergePolicy",
    ["Replace"],
    "has no counterpart: the target has the keys of the template only",
  );
  const data = template.object("data");
  const texts = template.texts("data") ?? {};
  const converted: Record<string, string> = {};
  for (const [key, text] of Object.entries(texts)) {
    const liquid = liquidTemplateOf(text);
    if (liquid === undefined)
      data?.problem(key, "write the template in the syntax of docs/resources.md#templates");
    else converted[key] = liquid;
  }
  return Object.keys(converted).length === 0 ? undefined : { data: converted };
}

/**
 * Returns labels or annotations of a template. The former operator renders them, and a target has
 * constant ones.
 */
function constantTexts(
  metadata: FieldReader | undefined,
  field: "labels" | "annotations",
): Record<string, string> | undefined {
  const texts = metadata?.texts(field);
  const reader = metadata?.object(field);
  for (const [name, text] of Object.entries(texts ?? {})) {
    if (text.includes("{{"))
      reader?.problem(name, "a template has no counterpart here: write the text that it makes");
  }
  return texts;
}

/**
 * Returns the labels and annotations that the Secret has of the ExternalSecret itself, as far as a
 * target may have them: the former operator copies them if there is no template.
 */
function copiedTexts(
  own: Manifest["metadata"],
  field: "labels" | "annotations",
): Record<string, string> | undefined {
  const all = new FieldReader(own, [], () => undefined).texts(field) ?? {};
  const allowed = Object.entries(all).filter(
    ([name, text]) => targetPolicies[field].safeParse({ [name]: text }).success,
  );
  return allowed.length === 0 ? undefined : Object.fromEntries(allowed);
}

const CREATED = "None has no counterpart: the target is created";
const WHOLE_ONLY =
  "only Owner and Orphan can be carried over: create a VaultSecret with Merge in each namespace";

function targetOf(
  target: FieldReader | undefined,
  template: FieldReader | undefined,
  metadata: FieldReader | undefined,
  own: Manifest["metadata"] | undefined,
): { readonly name?: string } {
  const creationPolicy =
    own === undefined
      ? target?.oneOf("creationPolicy", ["Owner", "Orphan"], WHOLE_ONLY)
      : target?.oneOf("creationPolicy", ["Owner", "Orphan", "Merge"], CREATED);
  const isCopied = template === undefined && own !== undefined && creationPolicy !== "Merge";
  const textsOf = (field: "labels" | "annotations"): Record<string, string> | undefined =>
    isCopied ? copiedTexts(own, field) : constantTexts(metadata, field);
  const immutable = target?.flag("immutable") === true ? true : undefined;
  return defined({
    name: target?.text("name"),
    type: template?.text("type"),
    labels: textsOf("labels"),
    annotations: textsOf("annotations"),
    creationPolicy: creationPolicy === "Owner" ? undefined : creationPolicy,
    ...removalPolicies(target),
    immutable,
    template: template && templatesOf(template),
  });
}

/**
 * Returns the spec of the new object.
 * @param own the metadata of the former object; `undefined`: it has targets in several namespaces
 */
export function specOf(spec: FieldReader, own?: Manifest["metadata"]) {
  const connectionRef = connectionRefOf(spec, own === undefined);
  const interval = spec.text("refreshInterval");
  const isNever = interval !== undefined && /^0[a-z]*$/u.test(interval);
  if (isNever)
    spec.problem(
      "refreshInterval",
      "0 has no counterpart: set version to a number to follow no newer one",
    );
  spec.oneOf(
    "refreshPolicy",
    ["Periodic"],
    "only Periodic can be carried over: every change is followed",
  );
  const data = spec.list("data").map(dataEntry);
  const dataFrom = spec.list("dataFrom").map(dataFromEntry);
  const target = spec.object("target");
  const template = target?.object("template");
  const metadata = template?.object("metadata");
  const wanted = targetOf(target, template, metadata, own);
  for (const reader of [metadata, template, target, spec]) reader?.end();
  return {
    connectionRef,
    ...defined({
      refreshInterval: isNever ? undefined : interval,
      data: data.length === 0 ? undefined : data,
      dataFrom: dataFrom.length === 0 ? undefined : dataFrom,
    }),
    target: wanted,
  };
}

/**
 * Converts one ExternalSecret. What cannot be carried over is reported at its path in the
 * ExternalSecret.
 */
export function convertExternalSecret(manifest: Manifest, report: ReportField): ConvertedSecret {
  const spec = specOf(new FieldReader(manifest.spec, ["spec"], report), manifest.metadata);
  const parsed = vaultSecretSpec.safeParse(spec);
  for (const { path, message } of parsed.error?.issues ?? [])
    report(
      ["spec"],
      `the VaultSecret is not complete: ${formatPath(["spec", ...path])}: ${message}`,
    );
  const { kind } = vaultSecretKind;
  const object = {
    apiVersion: apiVersionOf(vaultSecretKind),
    kind,
    metadata: metadataOf(manifest),
    spec,
  };
  const { name = manifest.name, creationPolicy, whenMissing } = parsed.data?.target ?? {};
  const isMerged = creationPolicy === "Merge";
  return {
    object,
    target: name,
    isDeletedWithSource: whenMissing === "Delete" && !isMerged,
  };
}
