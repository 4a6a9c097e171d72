import { z } from "zod";
import {
  connectionRef,
  creationPolicy,
  isObjectKey,
  MAX_KEY_LENGTH,
  OBJECT_KEY_PATTERN,
  objectKey,
  objectName,
  suspend,
  vaultName,
  version,
  whenMissing,
  whenRemoved,
} from "./fields.ts";
import { withRule } from "./validation.ts";
import { fileStatus } from "./status.ts";

const fileEntry = withRule(
  z.object({
    filename: vaultName.describe("The file's name in the vault."),
    version,
    key: objectKey.optional().describe("The key of the target. Defaults to the filename, where that is a legal key."),
  }),
  {
    cel: `has(self.key) || (size(self.filename) <= ${MAX_KEY_LENGTH} && self.filename.matches('${OBJECT_KEY_PATTERN}'))`,
    message: "this filename is not a legal key: write under which key it goes, for example key: app.conf",
    check: (file) => file.key !== undefined || isObjectKey(file.filename),
  },
);

const keyOf = (file: z.output<typeof fileEntry>): string => file.key ?? file.filename;

const files = withRule(
  withRule(z.array(fileEntry).max(128).optional(), {
    cel: "size(self) > 0",
    message: "write at least one entry, for example {filename: app.conf}",
    check: (entries) => entries?.length !== 0,
  }),
  {
    cel: "self.all(a, self.exists_one(b, (has(b.key) ? b.key : b.filename) == (has(a.key) ? a.key : a.filename)))",
    message: "two files go under the same key: give one of them another key",
    check: (entries) => new Set(entries?.map(keyOf)).size === (entries?.length ?? 0),
  },
);

export const vaultFileSpec = withRule(
  z.object({
    connectionRef,
    suspend,
    files: files.describe("Which files of the vault the target holds."),
    target: z
      .object({
        kind: z.enum(["ConfigMap", "Secret"]).describe("Required, as it decides who may read it."),
        name: objectName("ConfigMap").optional().describe("The target's name. Defaults to this resource's own."),
        creationPolicy,
        whenRemoved,
        whenMissing,
      })
      .describe("The ConfigMap or Secret to keep in step."),
  }),
  {
    cel: "has(self.files)",
    message: "write at least one entry under spec.files, for example {filename: app.conf}",
    check: (spec) => spec.files !== undefined,
  },
);
export type VaultFileSpec = z.output<typeof vaultFileSpec>;

export const vaultFileStatus = fileStatus;
