import { z } from "zod";
import { conditions, MAX_STATUS_ITEMS, timestamp } from "./status.ts";
import { duration, nonEmpty, objectKey, objectName, requireEntries, vaultName } from "./fields.ts";
import { withRule } from "./validation.ts";

const EXAMPLE = "{secretKey: password, remoteRef: {key: shop-db}}";

/** Access to a ClusterVaultConnection allows reading only. */
const connectionRef = z
  .object({
    kind: z
      .enum(["VaultConnection"])
      .optional()
      .describe("Defaults to VaultConnection: a ClusterVaultConnection is for reading only."),
    name: objectName("VaultConnection").describe(
      "Name of a VaultConnection in the same namespace.",
    ),
  })
  .describe("The connection through which the operator writes to the vault for this resource.");

/** Maximum number of metadata attributes of one entry, and of the characters of a value. */
const MAX_METADATA = 32;
const MAX_METADATA_VALUE = 1024;

const metadata = withRule(
  z
    .record(
      z.string(),
      z
        .union([z.int(), z.string().max(MAX_METADATA_VALUE)])
        .meta({ "x-kubernetes-int-or-string": true }),
    )
    .refine(
      (entries) => Object.keys(entries).length <= MAX_METADATA,
      `must have at most ${MAX_METADATA} attributes`,
    )
    .meta({ maxProperties: MAX_METADATA }),
  {
    cel: "!('expiration_time' in self) || (type(self['expiration_time']) == int && self['expiration_time'] >= 0)",
    message: "expiration_time must be a number of days, for example 30",
    check: ({ expiration_time: days }) =>
      days === undefined || (typeof days === "number" && days >= 0),
  },
);

/** Minutes of each unit of a deleteTime. */
const MINUTES = new Map([
  ["m", 1],
  ["h", 60],
  ["d", 24 * 60],
]);
const DELETE_TIME = "^[1-9][0-9]{0,5}[mhd]$";

/** Returns the minutes of a valid deleteTime. */
export const parseDeleteTime = (text: string): number =>
  Number(text.slice(0, -1)) * (MINUTES.get(text.slice(-1)) ?? 0);

const deleteTime = withRule(z.string().max(8), {
  cel: `self.matches('${DELETE_TIME}')`,
  message: "must be a number of minutes, hours or days, for example 90m, 12h or 30d",
  check: (text) => new RegExp(DELETE_TIME).test(text),
})
  .optional()
  .describe(
    "Time after which the vault removes the secret, counted from the push. Defaults to none: the vault's own.",
  );

const filename = withRule(vaultName, {
  cel: "!self.matches('[/\\\\\\\\]') && self != '.' && self != '..'",
  message: "must be a file name without a directory, for example app.conf",
  check: (name) => !/[/\\]/.test(name) && name !== "." && name !== "..",
});

const dataEntry = withRule(
  withRule(
    z.object({
      secretKey: objectKey.describe("Key of the Secret whose bytes are pushed."),
      remoteRef: z
        .object({
          key: vaultName.describe("Name of the secret in the vault (key_name)."),
          owner: z
            .string()
            .min(1)
            .max(320)
            .optional()
            .describe(
              "Email address of the creator, if another account shares the secret with permission RW and spec.trustedOwners of the connection does not name it.",
            ),
        })
        .optional()
        .describe(
          "Secret of the vault that the key is pushed to. Its value is text, so the bytes must be UTF-8.",
        ),
      file: z
        .object({ filename: filename.describe("Name of the file in the vault.") })
        .optional()
        .describe("File of the vault that the key is pushed to, with any bytes."),
      metadata: metadata
        .optional()
        .describe(
          "Attributes of the secret in the vault, sent with each push and causing none; others are kept. Not stored in a secret that is shared.",
        ),
      deleteTime,
    }),
    {
      cel: "has(self.remoteRef) != has(self.file)",
      message:
        "exactly one of remoteRef and file is required, for example remoteRef: {key: shop-db}",
      check: (entry) => (entry.remoteRef === undefined) !== (entry.file === undefined),
    },
  ),
  {
    cel: "!has(self.file) || !(has(self.metadata) || has(self.deleteTime))",
    message:
      "metadata and deleteTime are allowed only with remoteRef: files of the vault have neither",
    check: (entry) =>
      entry.file === undefined || (entry.metadata === undefined && entry.deleteTime === undefined),
  },
);
type DataEntry = z.output<typeof dataEntry>;

const entryOf = ({ remoteRef, file }: DataEntry): string =>
  remoteRef ? `secret ${remoteRef.key}` : `file ${file?.filename}`;

const isUnique = (names: readonly string[] = []): boolean => new Set(names).size === names.length;

const data = withRule(
  withRule(nonEmpty(z.array(dataEntry).max(MAX_STATUS_ITEMS).optional(), EXAMPLE), {
    cel: "self.all(a, !has(a.remoteRef) || self.exists_one(b, has(b.remoteRef) && b.remoteRef.key == a.remoteRef.key))",
    message: "two keys are pushed to the same secret: set another remoteRef.key for one of them",
    check: (entries) => isUnique(entries?.filter(({ remoteRef }) => remoteRef).map(entryOf)),
  }),
  {
    cel: "self.all(a, !has(a.file) || self.exists_one(b, has(b.file) && b.file.filename == a.file.filename))",
    message: "two keys are pushed to the same file: set another file.filename for one of them",
    check: (entries) => isUnique(entries?.filter(({ file }) => file).map(entryOf)),
  },
);

export const vaultPushSpec = requireEntries(
  z.object({
    connectionRef,
    suspend: z
      .boolean()
      .optional()
      .describe(
        "If true, nothing is pushed, and nothing is deleted in the vault. Defaults to false.",
      ),
    refreshInterval: duration("5s")
      .optional()
      .describe(
        "Time between two checks whether the Secret has changed; each is one request to the API server. Defaults to 1m.",
      ),
    secret: z
      .object({ name: objectName("Secret").describe("Name of the Secret, in the same namespace.") })
      .describe("The Secret that is pushed."),
    data: data.describe(
      "Keys of the Secret, each with the entry of the vault that it is pushed to.",
    ),
    deletionPolicy: z
      .enum(["Retain", "Delete"])
      .optional()
      .describe(
        "What happens in the vault when this resource is deleted. Retain (the default): nothing. Delete: the entries are deleted that this resource " +
          "created and pushed to last.",
      ),
  }),
  ["data"],
  EXAMPLE,
);
export type VaultPushSpec = z.output<typeof vaultPushSpec>;

const item = z.object({
  secretKey: z.string().describe("Key of the Secret."),
  key: z.string().optional().describe("Name of the secret in the vault."),
  filename: z.string().optional().describe("Name of the file in the vault."),
  owner: z
    .string()
    .optional()
    .describe("Creator of the secret, if it is not the account of the connection."),
  version: z.int().describe("Version in the vault that has the bytes of the key."),
  createdAt: timestamp.optional().describe("Time at which the vault created that version."),
  deleteAt: timestamp.optional().describe("Time at which the vault removes the secret."),
  content: z
    .string()
    .describe("HMAC of the entry and its bytes under the key of the installation."),
  created: z
    .boolean()
    .optional()
    .describe(
      "True if this resource created the entry: only then deletionPolicy Delete deletes it.",
    ),
  missing: z
    .boolean()
    .optional()
    .describe(
      "True while the vault does not list the entry that this resource created: another writer deleted it, or the scope does not admit it.",
    ),
  pushedAt: timestamp
    .optional()
    .describe("Time of the push; omitted if the vault had the bytes already."),
});
export type PushItemStatus = z.output<typeof item>;

/** Status of a VaultPush. */
export const pushStatus = z.object({
  observedGeneration: z
    .int()
    .optional()
    .describe("Generation that the conditions refer to, also after a failed reconciliation."),
  conditions,
  vault: z
    .string()
    .optional()
    .describe("Digest of the URL and the account of the vault that the items were pushed to."),
  items: z
    .array(item)
    .max(MAX_STATUS_ITEMS)
    .optional()
    .describe("State of each key that was pushed."),
  lastForceSync: z
    .string()
    .optional()
    .describe("Value of the annotation vaultsync.dev/force-sync at the last forced sync."),
  syncedAt: timestamp.optional().describe("Time of the last push."),
});
export type PushStatus = z.output<typeof pushStatus>;
