import { z } from "zod";
import {
  connectionRef,
  jsonPointer,
  nonEmpty,
  objectKey,
  objectName,
  expiryNotice,
  refreshInterval,
  regexp,
  requireEntries,
  rewrite,
  suspend,
  vaultName,
  version,
  versionOrPrevious,
} from "./fields.ts";
import { fanOutFields, selectsNamespaces } from "./fan-out.ts";
import {
  onlyKeysIfMerged,
  onlyRenderedKeys,
  targetPolicies,
  wholePolicy,
} from "./target-policies.ts";
import { updates } from "./updates.ts";
import { rolloutRestart } from "./rollout-restart.ts";
import { withRule } from "./validation.ts";
import { validate } from "./value-contract.ts";

/**
 * Types of a target Secret that every operator allows; a flag adds others. See
 * docs/design/security.md#secret-types.
 */
export const defaultSecretTypes: readonly string[] = [
  "Opaque",
  "kubernetes.io/tls",
  "kubernetes.io/dockerconfigjson",
  "kubernetes.io/dockercfg",
  "kubernetes.io/basic-auth",
  "kubernetes.io/ssh-auth",
];

const TYPE = "^[A-Za-z0-9]([-._/A-Za-z0-9]*[A-Za-z0-9])?$";
/**
 * Types that Kubernetes or its tools act on (tokens, Helm releases), and credentials of the
 * operator: no flag can allow them.
 */
const RESERVED_TYPE =
  "^(vaultsync[.]dev|helm[.]sh|bootstrap[.]kubernetes[.]io)/|^kubernetes[.]io/service-account-token$";

/** Reports whether no resource may write or push a Secret of this type. */
export const reservedSecretType = (type: string): boolean => new RegExp(RESERVED_TYPE).test(type);

/** The type of a target Secret that an operator may allow. */
export const secretType = withRule(z.string().max(253), {
  cel: `self.matches('${TYPE}') && !self.matches('${RESERVED_TYPE}')`,
  message:
    "must be the type of a Secret, for example Opaque; tokens of Kubernetes, Helm releases and credentials of the operator are never allowed",
  check: (type) => new RegExp(TYPE).test(type) && !reservedSecretType(type),
});

const EXAMPLE = "{secretKey: password, remoteRef: {key: shop-db}}";
const FROM_EXAMPLE = "{extract: {key: shop-config}}";

/** A reference to one secret of the vault. */
const reference = {
  key: vaultName.describe("Name of the secret in the vault (key_name)."),
  version,
  owner: z
    .string()
    .min(1)
    .max(320)
    .optional()
    .describe(
      "Email address of the creator; required only if several creators share a secret of this name.",
    ),
};

const dataEntry = z.object({
  secretKey: objectKey.describe("Key of the target Secret."),
  remoteRef: z
    .object({
      ...reference,
      version: versionOrPrevious,
      property: jsonPointer
        .optional()
        .describe(
          "JSON Pointer (RFC 6901) to the part of the value that is used, for example /primary/password. Defaults to the whole value.",
        ),
      decoding: z
        .enum(["None", "Base64", "Base64URL"])
        .optional()
        .describe("How the value, or its part, is decoded. Defaults to None."),
    })
    .describe("Secret of the vault that feeds the key."),
  optional: z
    .boolean()
    .optional()
    .describe(
      "If true, a secret that the vault does not list is no error: the target has no such key, or loses it. Defaults to false.",
    ),
  validate,
});

const attribute = z.string().min(1).max(256).optional();

const find = withRule(
  z.object({
    name: z
      .object({
        regexp: regexp.describe(
          "Regular expression in the syntax of RE2. It matches a part of a name unless it is anchored.",
        ),
      })
      .optional()
      .describe("Secrets with a name that matches. Defaults to every name."),
    metadata: z
      .object({
        cloud_type: attribute.describe("Value of cloud_type."),
        environment_type: attribute.describe("Value of environment_type."),
        application_type: attribute.describe("Value of application_type."),
        classification: attribute.describe("Value of classification."),
      })
      .optional()
      .describe("Secrets whose metadata has all of these values."),
  }),
  {
    cel: "has(self.name) || has(self.metadata)",
    message: "must have name or metadata, for example name: {regexp: ^shop-}",
    check: ({ name, metadata }) => name !== undefined || metadata !== undefined,
  },
);

const dataFromEntry = withRule(
  z.object({
    extract: z
      .object(reference)
      .optional()
      .describe("Secret of the vault whose value is a JSON object: each member becomes a key."),
    find: find
      .optional()
      .describe("Secrets of the vault with these names and metadata: each becomes a key."),
    rewrite,
  }),
  {
    cel: "has(self.extract) != has(self.find)",
    message: "must have either extract or find, for example extract: {key: shop-config}",
    check: (entry) => (entry.extract === undefined) !== (entry.find === undefined),
  },
);

type DataEntry = z.output<typeof dataEntry>;

/** Reports whether each entry with `version: previous` is next to one that follows its secret. */
function hasLatest(entries: readonly DataEntry[]): boolean {
  const following = entries.filter(({ remoteRef: { version: of = "latest" } }) => of === "latest");
  return entries.every(
    ({ remoteRef: { key, owner, version: of } }) =>
      of !== "previous" ||
      following.some(({ remoteRef: one }) => one.key === key && one.owner === owner),
  );
}

/** The API server needs no rule against duplicate keys, because it treats the list as a map. */
const distinctEntries = withRule(
  z
    .array(dataEntry)
    .max(256)
    .optional()
    .refine(
      (entries) =>
        new Set(entries?.map((entry) => entry.secretKey)).size === (entries?.length ?? 0),
      {
        message: "two entries have the same secretKey: set another one for one of them",
      },
    )
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["secretKey"] }),
  {
    cel: "self.all(e, !has(e.remoteRef.version) || e.remoteRef.version != 'previous' || self.exists(o, (!has(o.remoteRef.version) || o.remoteRef.version == 'latest') && o.remoteRef.key == e.remoteRef.key))",
    message:
      "version: previous needs another entry with the same key and owner that follows the latest version",
    // The rule of the API server would exceed its budget with owners.
    check: (entries = []) => hasLatest(entries),
  },
);

const target = z.object({
  name: objectName("Secret")
    .optional()
    .describe("Name of the Secret. Defaults to the name of this resource."),
  type: secretType
    .optional()
    .describe(
      `Type of the Secret. Defaults to Opaque. Allowed are ${defaultSecretTypes.join(", ")}, and those of --allowed-secret-types.`,
    ),
  ...targetPolicies,
});

/** The fields of a spec that say what the target has, and when it follows. */
const content = {
  refreshInterval,
  expiryNotice,
  suspend,
  updates,
  data: nonEmpty(distinctEntries, EXAMPLE).describe(
    "Keys of the target, each with the secret of the vault that it is read from.",
  ),
  dataFrom: nonEmpty(z.array(dataFromEntry).max(32).optional(), FROM_EXAMPLE).describe(
    "Secrets of the vault that make up several keys of the target each.",
  ),
};
const ENTRIES = ["data", "dataFrom"] as const;

export const vaultSecretSpec = requireEntries(
  z.object({
    connectionRef,
    ...content,
    target: onlyRenderedKeys(
      onlyKeysIfMerged(target, ["type", "labels", "annotations", "immutable"]),
    )
      .optional()
      .describe("The Secret to keep in sync."),
    rolloutRestart,
  }),
  ENTRIES,
  EXAMPLE,
);
export type VaultSecretSpec = z.output<typeof vaultSecretSpec>;

export const clusterVaultSecretSpec = selectsNamespaces(
  requireEntries(
    z.object({
      ...fanOutFields,
      ...content,
      target: onlyRenderedKeys(target.extend({ creationPolicy: wholePolicy }))
        .optional()
        .describe("The Secret to keep in sync in each namespace."),
    }),
    ENTRIES,
    EXAMPLE,
  ),
);
