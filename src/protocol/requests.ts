import { z } from "zod";
import { characters } from "./characters.ts";
import { canonicalEmail, isEmailAddress } from "./email-address.ts";
import { givenMetadata, metadataObject, standardMetadataFields } from "./metadata.ts";
import { nameSchema } from "./names.ts";
import { scopeAttributes } from "./scope.ts";

/** The caller's own address as a request names it. */
export const email = nameSchema(320).meta({ description: "The caller's own address, in any case." });
/** Somebody other than the caller, canonical. */
const person = z
  .string()
  .refine(isEmailAddress, "expected an e-mail address")
  .meta({ format: "email", maxLength: 320 })
  .transform(canonicalEmail);
const owner = nameSchema(320)
  .meta({ description: "The creator's address, to tell several secrets of one name apart." })
  .transform(canonicalEmail)
  .optional();
const version = z.int().min(1);

/** No maximum, but that the lifetime is a finite number of milliseconds. */
const hours = z
  .number()
  .min(1)
  .refine((count) => Number.isInteger(count) && Number.isFinite(count * 3_600_000), "expected whole hours")
  .meta({ type: "integer", description: "Hours until the token expires; no maximum." });

/** Longest accepted `delete_time`, in minutes. Source: the vault contract, "Fine print". */
const MAX_DELETE_MINUTES = 10 ** 12;

/** Minutes as an integer or a decimal string; `null` is as if left out. */
const deleteTime = z
  .union([z.int(), z.string().regex(/^[0-9]{1,20}$/u, "expected minutes in digits"), z.null()])
  .transform((minutes) => (minutes === null ? undefined : Number(minutes)))
  .pipe(z.number().min(1).max(MAX_DELETE_MINUTES).optional())
  .meta({
    anyOf: [
      { type: "integer", minimum: 1, maximum: MAX_DELETE_MINUTES },
      { type: "string", maxLength: 20, pattern: "^0*([1-9][0-9]{0,11}|10{12})$" },
      { type: "null" },
    ],
    description: "Minutes until the secret is removed, as an integer or in digits; null is as if left out.",
  })
  .optional();

const value = z
  .string()
  .refine((text) => text.isWellFormed(), "must be well-formed Unicode")
  .meta({ description: "The secret value: well-formed Unicode, also empty." });

/** An octet of ASCII, or a whole sequence of UTF-8, in percent-encoding; H is a hexadecimal digit, T a trailing octet. */
const ESCAPE = "%[0-7]H|%([Cc][2-9A-Fa-f]|[Dd]H)T|%[Ee](0%[ABab]H|[1-9ABCEFabcef]T|[Dd]%[89]H)T|%[Ff](0%[9ABab]H|[1-3]T|4%8H)TT"
  .replaceAll("T", "%[89ABab]H")
  .replaceAll("H", "[0-9A-Fa-f]");

/** A pair of a scope string. The mark U+FEFF is white space to some readers of patterns only. */
const PAIR = `(${scopeAttributes.join("|")}):([^,%\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f]|${ESCAPE})+`;

/** Every attribute once at least, each with values that are percent-encoded where they hold a comma, a space or a percent sign. */
const scopeShape = {
  pattern: `^${PAIR}(,${PAIR})*$`,
  allOf: scopeAttributes.map((attribute) => ({ pattern: `(^|,)${attribute}:` })),
  description: "Pairs attribute:value, comma-separated, the five attributes each at least once; * and all mean every value.",
};

export const generateAccessTokenRequest = z.object({
  email,
  password: characters(1024),
  scope: z.string().meta(scopeShape),
  expiration_hours: hours,
});

export const refreshTokenRequest = z.object({
  refresh_token: characters(1024),
  used_access_token: characters(1024),
});

export const listRequest = z.object({ email });

/** What a server may set of the shape of requests. */
export interface RequestLimits {
  /** Code points of a name. */
  readonly nameCharacters: number;
  /** Entries of a list, and grants that one request may make. */
  readonly entriesPerRequest: number;
}

/** Tells the document's maker (openapi/json-schema.ts) that a single entry may stand for a list of one. */
export const ONE_OR_MORE = "x-one-or-more";

/** A single string stands for a list of one. Source: the vault contract, "Fine print". */
function listOf<T extends z.ZodType>(entry: T, { entriesPerRequest }: RequestLimits, atLeast = 1): z.ZodType<z.output<T>[]> {
  const list = z.array(entry).min(atLeast).max(entriesPerRequest);
  return z.preprocess((given) => (typeof given === "string" ? [given] : given), list).meta({ [ONE_OR_MORE]: true });
}

/** Bodies about secrets. Unknown members are dropped. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the schemas are the types
export function secretRequests(limits: RequestLimits) {
  const secret = z.object({ email, key_name: nameSchema(limits.nameCharacters) });
  return {
    protect: secret.extend({
      ...standardMetadataFields,
      key_value: value,
      metadata: metadataObject.optional(),
      delete_time: deleteTime,
    }),
    secret,
    secretVersion: secret.extend({ key_version: version }),
    link: secret.extend({ owner }),
    linkVersion: secret.extend({ owner, key_version: version }),
    protectLink: secret.extend({ owner, key_value: value, without_list: z.int().optional() }),
    updateMetadata: secret
      .extend({ ...standardMetadataFields, owner, key_version: version, metadata: metadataObject.optional() })
      .refine((body) => body.metadata !== undefined || Object.keys(givenMetadata(body)).length > 0, {
        path: ["metadata"],
        message: "expected the names to change",
      })
      .meta({ anyOf: ["metadata", ...Object.keys(standardMetadataFields)].map((name) => ({ required: [name] })) }),
    delete: z.object({ email, key_name: listOf(nameSchema(limits.nameCharacters), limits) }),
  };
}

/** Whom a request grants to, or takes from: canonical addresses, or one team. */
export type Recipients =
  | { readonly kind: "people"; readonly emails: readonly string[] }
  | { readonly kind: "team"; readonly groupId: string };

interface NamedRecipients {
  readonly usr_id_to?: readonly string[] | undefined;
  readonly group_id_to?: string | undefined;
}

function recipientsOf({ usr_id_to: emails, group_id_to: groupId }: NamedRecipients): Recipients | undefined {
  if (groupId !== undefined) return { kind: "team", groupId };
  return emails && { kind: "people", emails };
}

function isOneAtMost({ usr_id_to: people, group_id_to: team }: NamedRecipients): boolean {
  return people === undefined || team === undefined;
}

const both = { path: ["group_id_to"], message: "send usr_id_to or group_id_to, not both" };

/** Bodies about grants; the recipients are read into `to`. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the schemas are the types
export function sharingRequests(limits: RequestLimits) {
  const name = nameSchema(limits.nameCharacters);
  const named = z.object({
    email,
    key_name: listOf(name, limits),
    usr_id_to: listOf(person, limits).optional(),
    group_id_to: name.optional(),
  });
  const share = named
    .extend({ usr_id_from: email, permission: z.enum(["R", "W", "RW"]) })
    .refine(isOneAtMost, both)
    .transform((body, context) => {
      const to = recipientsOf(body);
      const refuse = (path: string, message: string): never => {
        context.addIssue({ code: "custom", path: [path], message });
        return z.NEVER;
      };
      if (!to) return refuse("usr_id_to", "send usr_id_to or group_id_to");
      if (to.kind === "people") {
        if (to.emails.includes(canonicalEmail(body.email))) return refuse("usr_id_to", "names the sharing user");
        if (body.key_name.length * to.emails.length > limits.entriesPerRequest)
          return refuse("key_name", `at most ${limits.entriesPerRequest} grants in one request`);
      }
      return { ...body, to };
    })
    .meta({ oneOf: [{ required: ["usr_id_to"] }, { required: ["group_id_to"] }] });
  const unshare = named
    .extend({ usr_id_from: email.optional() })
    .refine(isOneAtMost, both)
    .transform((body) => ({ ...body, to: recipientsOf(body) }))
    .meta({ not: { required: ["usr_id_to", "group_id_to"] } });
  return { share, unshare, list: z.object({ email, key_name: name }), leave: z.object({ email, key_name: name, owner }) };
}

/** Bodies about teams. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the schemas are the types
export function teamRequests(limits: RequestLimits) {
  const team = z.object({ email, group_id: nameSchema(limits.nameCharacters) });
  return {
    create: team.extend({ members: listOf(person, limits, 0).default([]) }),
    members: team.extend({ members: listOf(person, limits) }),
    team,
  };
}

/** Bodies about files. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the schemas are the types
export function fileRequests({ nameCharacters }: RequestLimits) {
  return { file: z.object({ email, filename: nameSchema(nameCharacters), version: version.optional() }) };
}
