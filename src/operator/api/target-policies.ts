import { z } from "zod";
import { isObjectKey, MAX_KEY_LENGTH, OBJECT_KEY_PATTERN } from "./fields.ts";
import { withRule } from "./validation.ts";
import { valueContract } from "./value-contract.ts";

/** Maximum number of keys that templates make up, and of characters in the template of one. */
const MAX_KEYS = 64;
const MAX_LENGTH = 16_384;

const keys = z
  .record(z.string(), z.string().max(MAX_LENGTH))
  .refine(
    (templates) => Object.keys(templates).length <= MAX_KEYS,
    `must have at most ${MAX_KEYS} entries`,
  )
  .meta({ maxProperties: MAX_KEYS });

const someKeys = withRule(keys, {
  cel: "size(self) > 0",
  message:
    'must have at least one entry, for example url: "postgres://{{ user }}:{{ password | urlencode }}@db/shop"',
  check: (templates) => Object.keys(templates).length > 0,
});

/** The API server rejects the name `__proto__` because zod ignores it. */
const validKeys = withRule(someKeys, {
  cel: `self.all(k, size(k) <= ${MAX_KEY_LENGTH} && k.matches('${OBJECT_KEY_PATTERN}') && k != '__proto__')`,
  message:
    "the names must be keys of letters, digits, '-', '_' and '.', and must not be '.', '__proto__' or start with '..'",
  check: (templates) => Object.keys(templates).every(isObjectKey),
});

/** `target.template`: the content of the target, made of the values of the sources. */
const targetTemplate = z
  .object({
    data: validKeys.describe(
      "Template of each key of the target, for example postgres://{{ user }}:{{ password | urlencode }}@db/shop. " +
        "See docs/resources.md#templates for the syntax and the functions.",
    ),
  })
  .optional()
  .describe(
    "Templates that make the content of the target. It has the keys of the template only; the keys of the sources are the names of variables. " +
      "Defaults to none.",
  );

const contracts = z
  .record(z.string(), valueContract)
  .refine((rules) => Object.keys(rules).length <= MAX_KEYS, `must have at most ${MAX_KEYS} entries`)
  .meta({ maxProperties: MAX_KEYS });

/** `target.validate`: rules for what the templates make. */
const keyContracts = withRule(contracts, {
  cel: "size(self) > 0",
  message: "must have at least one entry, for example url: {format: URL}",
  check: (rules) => Object.keys(rules).length > 0,
})
  .optional()
  .describe(
    "Rules for keys that the template makes, by key. A content that does not fit them is not written: the target stays unchanged. Defaults to none.",
  );

/** Requires that the rules for keys name keys of the template. */
export function onlyRenderedKeys<
  T extends z.ZodType<{
    readonly template?: { readonly data: Readonly<Record<string, string>> } | undefined;
    readonly validate?: Readonly<Record<string, unknown>> | undefined;
  }>,
>(target: T): T {
  return withRule(target, {
    cel: "!has(self.validate) || (has(self.template) && self.validate.all(k, k in self.template.data))",
    message:
      "validate must name keys of template.data; rules for a value of the vault are in validate of its source",
    check: ({ template, validate = {} }) =>
      Object.keys(validate).every((key) => Object.hasOwn(template?.data ?? {}, key)),
  });
}

/** Maximum number of labels, and of annotations, of a target. */
const MAX_ENTRIES = 16;
const MAX_ANNOTATION_LENGTH = 1024;

/**
 * Domains whose labels and annotations Kubernetes and other controllers act on; their subdomains
 * included.
 */
const DOMAINS_OF_OTHERS = [
  "kubernetes.io",
  "k8s.io",
  "argoproj.io",
  "bitnami.com",
  "cattle.io",
  "cert-manager.io",
  "crossplane.io",
  "emberstack.com",
  "external-secrets.io",
  "fluxcd.io",
  "helm.sh",
  "istio.io",
  "linkerd.io",
  "mittwald.de",
  "openshift.io",
];
const RESERVED_DOMAINS = [...DOMAINS_OF_OTHERS, "vaultsync.dev"];
const namesOf = (domains: readonly string[]): string =>
  `^([^/]*[.])?(${domains.join("|").replaceAll(".", "[.]")})/`;
const RESERVED = namesOf(RESERVED_DOMAINS);
/**
 * Names of labels and annotations that `deploy/policies` does not let the operator set. The
 * operator itself sets the names of vaultsync.dev.
 */
export const RESERVED_BY_OTHERS = namesOf(DOMAINS_OF_OTHERS);
const NAME = "^([a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$";
/** 253 characters of the prefix, a slash, and 63 of the name. */
const MAX_NAME_LENGTH = 317;

const isName = (name: string): boolean =>
  name.length <= MAX_NAME_LENGTH && new RegExp(NAME).test(name);
const isReserved = (name: string): boolean => new RegExp(RESERVED).test(name);

/** Returns the schema of labels or annotations, whose values have this schema. */
function metadataOf(value: z.ZodString) {
  const bounded = z
    .record(z.string(), value)
    .refine(
      (entries) => Object.keys(entries).length <= MAX_ENTRIES,
      `must have at most ${MAX_ENTRIES} entries`,
    )
    .meta({ maxProperties: MAX_ENTRIES });
  const named = withRule(bounded, {
    cel: `self.all(k, size(k) <= ${MAX_NAME_LENGTH} && k.matches('${NAME}'))`,
    message:
      "the names must consist of letters, digits, '-', '_' and '.', after an optional domain, for example example.com/team",
    check: (entries) => Object.keys(entries).every(isName),
  });
  return withRule(named, {
    cel: `!self.exists(k, k.matches('${RESERVED}'))`,
    message: `must not have names of these domains, which other controllers act on: ${RESERVED_DOMAINS.join(", ")}`,
    check: (entries) => !Object.keys(entries).some(isReserved),
  }).optional();
}

const LABEL_VALUE = "^([A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?$";
const labelValue = withRule(z.string().max(63), {
  cel: `self.matches('${LABEL_VALUE}')`,
  message:
    "must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit",
  check: (text) => new RegExp(LABEL_VALUE).test(text),
});

const creationPolicy = z
  .enum(["Owner", "Orphan", "Merge"])
  .optional()
  .describe(
    "Owner (the default): the target is created, and garbage-collected with this resource. " +
      "Orphan: it is created, and stays when this resource is deleted or names another target. " +
      "Merge: keys are added to an existing object, which is never created or deleted.",
  );

/** The policies of a target that one resource has in each of several namespaces. */
export const wholePolicy = z
  .enum(["Owner", "Orphan"])
  .optional()
  .describe(
    "Owner (the default): the target is created, and garbage-collected with this resource. " +
      "Orphan: it is created, and stays when this resource is deleted or names another target.",
  );

const whenMissing = z
  .enum(["Delete", "Retain"])
  .optional()
  .describe(
    "Policy for a source that is missing for any other reason. Retain (the default): keep the last content and report SourceMissing. " +
      "Delete: remove its key, and the target with its last key, when three lists in a row lack the name.",
  );

const whenRemoved = z
  .enum(["Delete", "Retain"])
  .optional()
  .describe(
    "Policy for a source that the vault removed at its delete_time. Delete (the default): remove its key, and the target with its last key. " +
      "Retain: keep the last content.",
  );

const immutable = z
  .boolean()
  .optional()
  .describe(
    "If true, Kubernetes prevents every change of the content: a change of a source is TargetImmutable until the target is deleted. Defaults to false.",
  );

/**
 * Requires that a target with the policy `Merge` has none of `fields`: they belong to the owner of
 * the object.
 */
export function onlyKeysIfMerged<
  T extends z.ZodType<{ readonly creationPolicy?: string | undefined }>,
>(target: T, fields: readonly string[]): T {
  return withRule(target, {
    cel: `!(has(self.creationPolicy) && self.creationPolicy == 'Merge' && (${fields.map((field) => `has(self.${field})`).join(" || ")}))`,
    message: `must not have ${fields.join(", ")} with creationPolicy Merge, which only adds keys to an object of others`,
    check: (value) =>
      value.creationPolicy !== "Merge" || fields.every((field) => !Object.hasOwn(value, field)),
  });
}

/** Policies and templates of the target, common to all kinds with a target. */
export const targetPolicies = {
  labels: metadataOf(labelValue).describe(
    "Labels of the target. Those of this resource are never copied.",
  ),
  annotations: metadataOf(z.string().max(MAX_ANNOTATION_LENGTH)).describe(
    "Annotations of the target. Those of this resource are never copied.",
  ),
  creationPolicy,
  immutable,
  whenRemoved,
  whenMissing,
  template: targetTemplate,
  validate: keyContracts,
};
