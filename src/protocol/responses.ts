import { z } from "zod";
import { errorCodes } from "./error-codes.ts";
import type { Metadata } from "./metadata.ts";

const count = z.int().min(1);

/** ISO 8601 in UTC; beyond the year 9999 its expanded form, `+` and six digits. */
const ISO_TIMESTAMP = /^([0-9]{4}|\+[0-9]{6})-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/u;

/** A timestamp on the wire: ISO 8601 in UTC, or milliseconds since the epoch where that lies beyond JavaScript's dates. */
export const timestamp = z.union([z.string().regex(ISO_TIMESTAMP), z.number()]).meta({
  description: "ISO 8601 in UTC, or milliseconds since the epoch where no date reaches.",
});

export type Timestamp = z.infer<typeof timestamp>;

/** Answer of the two token operations. `expires_in` is in seconds. Source: the interface, "Token response object". */
export const tokenResponse = z.object({
  access_token: z.string(),
  // No maximum, so it may lie beyond the integers that a double tells apart.
  expires_in: z.number().min(3600).meta({ type: "integer", description: "Seconds until the access token expires." }),
  id_token: z.string(),
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
    expiration_time: z.int().min(0).meta({ description: "Days from the version's creation until it expires." }),
  })
  .meta({ description: "The six standard names, always there, and custom names with any JSON value." });

/** One version of a secret as lists show it: everything but the value. `delete_time` is in minutes. Source: the vault contract, "Secrets". */
export const secretRecord = z.object({
  key_name: z.string(),
  key_version: count,
  owner: z.string(),
  shared: z.boolean(),
  permission,
  metadata,
  delete_time: z.int().min(1).meta({ description: "Minutes, as they were set." }),
  created_at: timestamp,
  updated_at: timestamp.meta({ description: "Last change of this version's metadata." }),
  expires_at: timestamp,
  expired: z.boolean(),
  delete_at: timestamp,
});

export type SecretRecord = Readonly<z.infer<typeof secretRecord>>;

/** Answer of the expose operations. */
export const exposedSecret = z.object({
  key_name: z.string(),
  key_value: z.string(),
  key_version: count,
  metadata,
  owner: z.string(),
  expired: z.boolean(),
});

export type ExposedSecret = Readonly<z.infer<typeof exposedSecret>>;

/** One grant as `share` answers it: `to` is an address or a team; `invited` while they, or for a team some other member, have no live session. */
export const shareRecord = z.object({ key_name: z.string(), to: z.string(), permission, state: z.enum(["active", "invited"]) });

export type ShareRecord = Readonly<z.infer<typeof shareRecord>>;

/** One grant that `unshare` took back from an address or a team. */
export const unshareRecord = z.object({ key_name: z.string(), from: z.string() });

export type UnshareRecord = Readonly<z.infer<typeof unshareRecord>>;

/** One grant as `share_list` answers it; `state` as in `share`'s answer. */
export const listedShare = shareRecord.omit({ key_name: true }).extend({ kind: z.enum(["person", "team"]) });

export type ListedShare = Readonly<z.infer<typeof listedShare>>;

/** A team; `members` by code point, the creator among them. Source: the vault contract, "Fine print", "Sharing". */
export const teamRecord = z.object({ group_id: z.string(), creator: z.string(), members: z.array(z.string()).readonly() });

export type TeamRecord = Readonly<z.infer<typeof teamRecord>>;

/** A file as `protect_file` answers it. */
export const uploadedFile = z.object({
  filename: z.string(),
  version: count,
  size: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/u),
});

export type UploadedFile = Readonly<z.infer<typeof uploadedFile>>;

/** One version of a file; `size` in bytes, `sha256` hexadecimal. Source: the vault contract, "Files". */
export const fileVersionRecord = uploadedFile.omit({ filename: true }).extend({ created_at: timestamp });

export type FileVersionRecord = Readonly<z.infer<typeof fileVersionRecord>>;

/** The latest version's figures and all versions, ascending. */
export const fileRecord = fileVersionRecord.extend({ filename: z.string(), versions: z.array(fileVersionRecord).readonly() });

export type FileRecord = Readonly<z.infer<typeof fileRecord>>;

/** Body of every error. Source: the vault contract, "Transport". */
export const errorResponse = z.object({
  error: z.object({
    // Any text for who reads it: a later server may have more codes.
    code: z.string().meta({ enum: Object.keys(errorCodes) }),
    message: z.string().meta({ description: "For a person; never quotes what was sent." }),
    details: z
      .array(z.object({ path: z.string(), reason: z.string() }))
      .readonly()
      .optional()
      .meta({ description: "What does not fit, and where." }),
  }),
});

export type ErrorResponse = Readonly<z.infer<typeof errorResponse>>;
