import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { sessionOperations } from "../../src/protocol/session-operations.ts";
import { operations } from "../../src/protocol/operations.ts";
import { errors } from "../../src/vault/server/errors.ts";
import { defaultLimits, defaultQuotas, type QuotaName } from "../../src/vault/server/limits.ts";
import { passwordProblem } from "../../src/vault/server/accounts/password-rules.ts";
import { reasonText, refusalText, waitText } from "../../src/vault/web/text/refusal-words.ts";

/** Words of the interface that mean nothing to a user of the pages. */
const WIRE =
  /[a-z]+_[a-z_]+|\bfield\b|\bbody\b|\bbytes\b|expected (?:string|int|number|array)|<=|>=|\btoken or session\b/u;

const refusals = [
  errors.invalidCredentials(),
  errors.sessionExpired(),
  errors.invalidConfirmation(),
  errors.outOfScope(),
  errors.writeOnly(),
  errors.readOnly(),
  errors.creatorOnly(),
  errors.creatorOnlyMetadata(),
  errors.callerBlocked(),
  errors.teamCreatorStays(),
  errors.teamCreatorOnly(),
  errors.emailMismatch("email", "ann@example.com"),
  errors.foreignOrigin("https://vault.example.com"),
  errors.secretExpired(),
  errors.secretNotFound(),
  errors.secretVersionNotFound(),
  errors.fileNotFound(),
  errors.teamNotFound(),
  errors.trashEntryNotFound(),
  errors.nameTaken(),
  errors.secretTooLargeToRename(1000, 32),
  errors.fileTooLargeToRename(1000),
  errors.tokenNotFound(),
  errors.useLinkOperation(),
  errors.useUnsharedOperation(),
  errors.ambiguousName(),
  errors.versionChanged("has version 3"),
  errors.invitationRequired(["usr_id_to.0"], "usr_id_to"),
  errors.tooManyStrangers("usr_id_to"),
  errors.tooManyLists(10_000, "ann@example.com"),
  errors.lastVersion(),
  errors.teamExists(),
  errors.bodyTooLarge(),
  errors.valueTooLarge(1_048_576),
  errors.metadataTooLarge(65_536),
  errors.fileTooLarge(67_108_864),
  errors.misdirectedRequest(),
  errors.tooManyLogins(40_000),
  errors.tooManyEmails(60_000),
  errors.tooManyRequests(1000),
  errors.internal(),
  errors.missingMasterKey(),
  errors.storeUnavailable(),
  errors.lowSpace(),
  errors.auditLogUnavailable(),
  ...(Object.keys(defaultQuotas) as QuotaName[]).map((quota) =>
    errors.quotaExceeded(quota, defaultQuotas[quota]),
  ),
];

/** Bodies that are wrong in every field of a form. */
const wrongBodies = [
  [
    operations.protect,
    {
      email: "a",
      key_name: "",
      key_value: "\ud800",
      delete_time: 0,
      metadata: { expiration_time: 2 ** 60 },
    },
  ],
  [
    operations.protect,
    { email: "a", key_name: "n".repeat(600), key_value: "v", delete_time: 1e13 },
  ],
  [
    operations.protect,
    { email: "a", key_name: "a\tb", key_value: "v", metadata: { expiration_time: -1 } },
  ],
  [
    operations.share,
    { email: "a@b.c", usr_id_from: "a@b.c", key_name: "n", permission: "R", usr_id_to: "a@b.c" },
  ],
  [
    operations.share,
    {
      email: "a@b.c",
      usr_id_from: "a@b.c",
      key_name: "n",
      permission: "R",
      usr_id_to: ["nobody", "x y"],
    },
  ],
  [
    operations.team_create,
    {
      email: "a@b.c",
      group_id: "dana@example.com",
      members: Array.from({ length: 2000 }, () => "x"),
    },
  ],
  [operations.team_add_members, { email: "a@b.c", group_id: "team", members: [] }],
  [sessionOperations.app_request_password, { email: '"x"@example.com' }],
  [sessionOperations.app_set_password, { token: "t", password: "short" }],
] as const;

function reasonsOf([operation, body]: (typeof wrongBodies)[number]): string[] {
  const schema: z.ZodType = operation.request(defaultLimits);
  return schema.safeParse(body).error?.issues.map(({ message }) => message) ?? [];
}

describe("the pages' words for a refusal of the vault", () => {
  test("contain no word of the interface", () => {
    for (const { code, message, retryAfter } of refusals) {
      const words = refusalText({ code, message, retryAfter });
      expect(words, message).not.toMatch(WIRE);
      expect(words, message).toMatch(/^[A-Z].*(?:\.|\/\/\S+)$/u);
      expect(words.toLowerCase(), message).not.toBe(`${message}.`);
    }
  });

  test("say what is wrong with each field, without words of the interface", async () => {
    const passwords = await Promise.all(
      ["ababababababab", "password1234", "ann@example.com"].map((text) =>
        passwordProblem(text, "ann@example.com"),
      ),
    );
    const found = [
      ...wrongBodies.flatMap(reasonsOf),
      ...passwords.filter((problem) => problem !== undefined),
    ];
    expect(found.length).toBeGreaterThan(15);
    for (const reason of found) {
      expect(reasonText(reason), reason).not.toMatch(WIRE);
      expect(reasonText(reason), reason).toMatch(/^[A-Z].*\.$/u);
    }
  });

  test("name the field, the limit and the time to wait", () => {
    const name = { path: "key_name", reason: "must be at most 256 characters" };
    const { code, message } = errors.invalidBody([
      name,
      { path: "metadata.expiration_time", reason: "Too small: expected int to be >=0" },
    ]);
    expect(
      refusalText({
        code,
        message,
        details: [
          name,
          { path: "metadata.expiration_time", reason: "Too small: expected int to be >=0" },
        ],
      }),
    ).toBe("Name: at most 256 characters. Expires after: at least 0.");
    expect(refusalText(errors.fileTooLarge(67_108_864))).toBe(
      "The file is too large: at most 64 MiB.",
    );
    expect(refusalText(errors.tooManyLogins(40_000))).toBe(
      "Too many failed logins. Try again in 40 seconds.",
    );
    expect([1, 99, 100, 600].map(waitText)).toEqual([
      "1 second",
      "99 seconds",
      "2 minutes",
      "10 minutes",
    ]);
  });

  test("are the vault's own sentence for a code that this release does not know", () => {
    expect(refusalText({ code: "new_code", message: "a new rule applies" })).toBe(
      "A new rule applies.",
    );
  });
});
