import { z } from "zod";
import {
  connectionRef,
  nonEmpty,
  objectKey,
  objectName,
  refreshInterval,
  requireEntries,
  suspend,
  vaultName,
  version,
} from "./fields.ts";
import { onlyKeysIfMerged, targetPolicies } from "./target-policies.ts";
import { withRule } from "./validation.ts";

/**
 * Types of a target Secret. All others are rejected, above all those that Kubernetes or its tools act on (service-account and
 * bootstrap tokens, Helm releases, credentials of the operator); see docs/design/security.md#secret-types.
 */
const targetTypes = [
  "Opaque",
  "kubernetes.io/tls",
  "kubernetes.io/dockerconfigjson",
  "kubernetes.io/dockercfg",
  "kubernetes.io/basic-auth",
  "kubernetes.io/ssh-auth",
] as const;

const targetType = withRule(z.string().max(253), {
  cel: `self in [${targetTypes.map((type) => `'${type}'`).join(", ")}]`,
  message: `must be one of ${targetTypes.join(", ")}`,
  check: (type) => targetTypes.some((allowed) => allowed === type),
});

const EXAMPLE = "{secretKey: password, remoteRef: {key: shop-db}}";

const dataEntry = z.object({
  secretKey: objectKey.describe("Key of the target Secret."),
  remoteRef: z
    .object({
      key: vaultName.describe("Name of the secret in the vault (key_name)."),
      version,
      owner: z
        .string()
        .min(1)
        .max(320)
        .optional()
        .describe("Email address of the creator; required only if several creators share a secret of this name."),
    })
    .describe("Secret of the vault that feeds the key."),
});

/** The API server needs no rule against duplicate keys, because it treats the list as a map. */
const distinctEntries = z
  .array(dataEntry)
  .max(256)
  .optional()
  .refine((entries) => new Set(entries?.map((entry) => entry.secretKey)).size === (entries?.length ?? 0), {
    message: "two entries have the same secretKey: set another one for one of them",
  })
  .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["secretKey"] });

const target = z.object({
  name: objectName("Secret").optional().describe("Name of the Secret. Defaults to the name of this resource."),
  type: targetType.optional().describe("Type of the Secret. Defaults to Opaque."),
  ...targetPolicies,
});

export const vaultSecretSpec = requireEntries(
  z.object({
    connectionRef,
    refreshInterval,
    suspend,
    data: nonEmpty(distinctEntries, EXAMPLE).describe(
      "Keys of the target, each with the secret of the vault that it is read from.",
    ),
    target: onlyKeysIfMerged(target, ["type", "labels", "annotations", "immutable"])
      .optional()
      .describe("The Secret to keep in sync."),
  }),
  "data",
  EXAMPLE,
);
export type VaultSecretSpec = z.output<typeof vaultSecretSpec>;
