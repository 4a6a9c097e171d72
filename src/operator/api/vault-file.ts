import { z } from "zod";
import {
  connectionRef,
  isObjectKey,
  MAX_KEY_LENGTH,
  nonEmpty,
  OBJECT_KEY_PATTERN,
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
} from "./fields.ts";
import { updates } from "./updates.ts";
import { rolloutRestart } from "./rollout-restart.ts";
import { fanOutFields, selectsNamespaces } from "./fan-out.ts";
import {
  onlyKeysIfMerged,
  onlyRenderedKeys,
  targetPolicies,
  wholePolicy,
} from "./target-policies.ts";
import { withRule } from "./validation.ts";
import { validate } from "./value-contract.ts";

const EXAMPLE = "{filename: app.conf}";

const fileEntry = withRule(
  z.object({
    filename: vaultName.describe("Name of the file in the vault."),
    version,
    key: objectKey
      .optional()
      .describe("Key of the target. Defaults to the filename if that is a valid key."),
    validate,
  }),
  {
    cel: `has(self.key) || (size(self.filename) <= ${MAX_KEY_LENGTH} && self.filename.matches('${OBJECT_KEY_PATTERN}'))`,
    message: "the filename is not a valid key: set key, for example key: app.conf",
    check: (file) => file.key !== undefined || isObjectKey(file.filename),
  },
);

const keyOf = (file: z.output<typeof fileEntry>): string => file.key ?? file.filename;

const files = withRule(nonEmpty(z.array(fileEntry).max(128).optional(), EXAMPLE), {
  cel: "self.all(a, self.exists_one(b, (has(b.key) ? b.key : b.filename) == (has(a.key) ? a.key : a.filename)))",
  message: "two files have the same key: set another key for one of them",
  check: (entries) => new Set(entries?.map(keyOf)).size === (entries?.length ?? 0),
});

const FROM_EXAMPLE = "{find: {filename: {regexp: ^nginx-}}}";

const filesFromEntry = z.object({
  find: z
    .object({
      filename: z
        .object({
          regexp: regexp.describe(
            "Regular expression in the syntax of RE2. It matches a part of a name unless it is anchored.",
          ),
        })
        .describe("Files with a name that matches."),
    })
    .describe(
      "Files of the vault that the list shows with these names: each becomes a key. Archives are not unpacked.",
    ),
  rewrite,
});

const target = z.object({
  kind: z
    .enum(["ConfigMap", "Secret"])
    .describe("Kind of the target. Required, because it decides who may read the content."),
  name: objectName("ConfigMap")
    .optional()
    .describe("Name of the target. Defaults to the name of this resource."),
  ...targetPolicies,
});

/** The fields of a spec that say what the target has, and when it follows. */
const content = {
  refreshInterval,
  expiryNotice,
  suspend,
  updates,
  files: files.describe("Files of the vault to store in the target."),
  filesFrom: nonEmpty(z.array(filesFromEntry).max(32).optional(), FROM_EXAMPLE).describe(
    "Rules that select files of the vault to store in the target.",
  ),
};
const ENTRIES = ["files", "filesFrom"] as const;

export const vaultFileSpec = requireEntries(
  z.object({
    connectionRef,
    ...content,
    target: onlyRenderedKeys(
      onlyKeysIfMerged(target, ["labels", "annotations", "immutable"]),
    ).describe("The ConfigMap or Secret to keep in sync."),
    rolloutRestart,
  }),
  ENTRIES,
  EXAMPLE,
);
export type VaultFileSpec = z.output<typeof vaultFileSpec>;

export const clusterVaultFileSpec = selectsNamespaces(
  requireEntries(
    z.object({
      ...fanOutFields,
      ...content,
      target: onlyRenderedKeys(target.extend({ creationPolicy: wholePolicy })).describe(
        "The ConfigMap or Secret to keep in sync in each namespace.",
      ),
    }),
    ENTRIES,
    EXAMPLE,
  ),
);
