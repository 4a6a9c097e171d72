import { z } from "zod";
import { errorCodes } from "./error-codes.ts";
import type { Metadata } from "./metadata.ts";

const count = z.int().min(1);

/** ISO 8601 in UTC; beyond the year 9999 its expanded form, `+` and six digits. */
const ISO_TIMESTAMP =
  /^([0-9]{4}|\+[0-9]{6})-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/u;

/**
 * A timestamp on the wire: ISO 8601 in UTC, or milliseconds since the epoch where JavaScript dates
 * end.
 */
export const timestamp = z.union([z.string().regex(ISO_TIMESTAMP), z.number()]).meta({
  description:
    "ISO 8601 in UTC, or milliseconds since the epoch beyond the range of JavaScript dates.",
});

export type Timestamp = z.infer<typeof timestamp>;

/** Response of the operations that issue tokens. */
export const tokenResponse = z.object({
  access_token: z.string(),
  // No maximum, so it may lie beyond the integers that a double represents exactly.
  expires_in: z.number().min(0).meta({
    type: "integer",
    description: "Seconds until the access token expires; a login with an end shortens them.",
  }),
  id_token: z.string().meta({ description: "Grants nothing." }),
  refresh_token: z.string(),
  scope: z.string(),
  token_type: z.literal("access"),
});

export type TokenResponse = Readonly<z.infer<typeof tokenResponse>>;

const permission = z.enum(["R", "W", "RW"]);

export type Permission = z.infer<typeof permission>;

/** The six standard names, always present, and custom ones with any JSON value. */
const metadata: z.ZodType<Metadata, Metadata> = z
  .looseObject({
    application_type: z.string(),
    classification: z.string(),
    cloud_type: z.string(),
    description: z.string(),
    environment_type: z.string(),
    expiration_time: z
      .int()
      .min(0)
      .meta({ description: "Days from the version's creation until it expires." }),
  })
  .meta({
    description: "The six standard names, always present, and custom names with any JSON value.",
  });

/** One version of a secret without its value. */
export const secretRecord = z.object({
  key_name: z.string(),
  key_version: count,
  owner: z.string().meta({ description: "The creator's address." }),
  shared: z.boolean(),
  permission: permission.meta({ description: "The caller's permission." }),
  metadata,
  delete_time: z.int().min(1).meta({ description: "Minutes, as set." }),
  created_at: timestamp,
  updated_at: timestamp.meta({ description: "Last change of this version's metadata." }),
  expires_at: timestamp.meta({ description: "expiration_time days after created_at." }),
  expired: z.boolean(),
  delete_at: timestamp.meta({ description: "Removal of the secret with all versions." }),
});

export type SecretRecord = Readonly<z.infer<typeof secretRecord>>;

/** One version as `update_key_metadata`, `version_list` and `version_list_for_link` return it. */
export const versionRecord = secretRecord.extend({
  created_by: z.string().optional().meta({
    description:
      "Address of the user who wrote the value; missing for a version from before this was recorded.",
  }),
});

export type VersionRecord = Readonly<z.infer<typeof versionRecord>>;

/** Response of the expose operations. */
export const exposedSecret = z.object({
  key_name: z.string(),
  key_value: z.string(),
  key_version: count,
  metadata,
  owner: z.string(),
  expired: z.boolean(),
});

export type ExposedSecret = Readonly<z.infer<typeof exposedSecret>>;

/** A resource that read a value, as `consumer_list` returns it. */
export const consumerRecord = z.object({
  name: z.string().meta({ description: "Name of the secret or file." }),
  consumer: z.string().meta({
    description: "`cluster/namespace/Kind/name`, as the client names it; nothing proves it.",
  }),
  version: count.meta({ description: "The version that was read last." }),
  last_read_at: timestamp.meta({ description: "Accurate to a minute." }),
  account: z.string().meta({ description: "Address of the account that read." }),
});

export type ConsumerRecord = Readonly<z.infer<typeof consumerRecord>>;

const shareState = z.enum(["active", "invited"]).meta({
  description:
    "invited while the recipient, for a team any other member, has no account or no live session.",
});

/** One share as `share` returns it. */
export const shareRecord = z.object({
  key_name: z.string(),
  to: z.string().meta({ description: "An address or a team." }),
  permission,
  state: shareState,
});

export type ShareRecord = Readonly<z.infer<typeof shareRecord>>;

/** One share that `unshare` removed. */
export const unshareRecord = z.object({
  key_name: z.string(),
  from: z.string().meta({ description: "An address or a team." }),
});

export type UnshareRecord = Readonly<z.infer<typeof unshareRecord>>;

/** One share as `share_list` returns it. */
export const listedShare = shareRecord
  .omit({ key_name: true })
  .extend({ kind: z.enum(["person", "team"]) });

export type ListedShare = Readonly<z.infer<typeof listedShare>>;

/** A team; the creator is one of the members. */
export const teamRecord = z.object({
  group_id: z.string(),
  creator: z.string(),
  members: z
    .array(z.string())
    .readonly()
    .meta({ description: "By code point; the creator is one of them." }),
});

export type TeamRecord = Readonly<z.infer<typeof teamRecord>>;

/**
 * A session, or a refresh token with its access tokens, as `token_list` returns it. It never
 * contains the token.
 */
export const credentialRecord = z.object({
  id: z.string().meta({ description: "Identifies it in `token_revoke`; grants nothing." }),
  kind: z.enum(["token", "session"]),
  name: z.string().meta({
    description: "As the user named the token, or as the client names itself; may be empty.",
  }),
  scope: z.string(),
  created_at: timestamp.meta({ description: "Login." }),
  last_used_at: timestamp.meta({
    description: "Accurate to an hour for a token, to a minute for a session.",
  }),
  expires_at: timestamp.meta({
    description: "Expiry of the latest access token, or of the session unless it is used before.",
  }),
  refreshable_until: timestamp.optional().meta({
    description: "Expiry of the refresh token unless it is used before; missing without one.",
  }),
  allowed_networks: z.array(z.string()).readonly().optional().meta({
    description: "Networks from which the tokens can be used and refreshed; missing for all.",
  }),
  ends_at: timestamp.optional().meta({
    description: "Time after which the tokens can be neither used nor refreshed; missing for none.",
  }),
  current: z.boolean().meta({ description: "True for the one that authenticates this request." }),
});

export type CredentialRecord = Readonly<z.infer<typeof credentialRecord>>;

/** The senders that the caller has blocked. */
export const blockedSenders = z.object({
  blocked: z.array(z.string()).readonly().meta({ description: "Addresses by code point." }),
});

/** A file as `protect_file` returns it. */
export const uploadedFile = z.object({
  filename: z.string(),
  version: count,
  size: z.int().min(0).meta({ description: "In bytes." }),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/u)
    .meta({ description: "Hexadecimal." }),
});

export type UploadedFile = Readonly<z.infer<typeof uploadedFile>>;

/** One version of a file. */
export const fileVersionRecord = uploadedFile
  .omit({ filename: true })
  .extend({ created_at: timestamp });

export type FileVersionRecord = Readonly<z.infer<typeof fileVersionRecord>>;

/** A file with the size and digest of its latest version and all versions, ascending. */
export const fileRecord = fileVersionRecord.extend({
  filename: z.string(),
  versions: z.array(fileVersionRecord).readonly(),
});

export type FileRecord = Readonly<z.infer<typeof fileRecord>>;

const trashKind = z.enum(["secret", "file"]);

/** A deleted secret or file in the trash; missing from a response when the server keeps none. */
export const trashedRecord = z.object({
  id: z.string().meta({ description: "Identifies the entry in `trash_restore`." }),
  name: z.string(),
});

export type TrashedRecord = Readonly<z.infer<typeof trashedRecord>>;

/** One entry of the trash. */
export const trashEntry = trashedRecord.extend({
  kind: trashKind,
  version: z.int().min(0).meta({ description: "Latest version; 0 without any." }),
  size: z
    .int()
    .min(0)
    .optional()
    .meta({ description: "Bytes of the latest version of a file; missing for a secret." }),
  deleted_at: timestamp,
  ends_at: timestamp.meta({ description: "Permanent removal." }),
});

export type TrashEntryRecord = Readonly<z.infer<typeof trashEntry>>;

/** An entry that was restored. */
export const restoredRecord = trashedRecord.extend({
  kind: trashKind,
  version: count.meta({ description: "Latest version." }),
  shared: z.boolean().meta({ description: "A secret that is shared again; false for a file." }),
});

export type RestoredRecord = Readonly<z.infer<typeof restoredRecord>>;

/** Body of every error response. */
export const errorResponse = z.object({
  error: z.object({
    // Any text for clients: a later server may have more codes.
    code: z.string().meta({ enum: Object.keys(errorCodes) }),
    message: z.string().meta({ description: "For users; never quotes the request." }),
    details: z
      .array(z.object({ path: z.string(), reason: z.string() }))
      .readonly()
      .optional()
      .meta({ description: "Invalid fields, each with path and reason." }),
  }),
});

export type ErrorResponse = Readonly<z.infer<typeof errorResponse>>;
