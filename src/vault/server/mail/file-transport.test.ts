import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { receivedMail } from "../../../../test/lab/mail/smtp-server.ts";
import { TestDirectory } from "../../../../test/lab/test-directory.ts";
import { isEmailAddress } from "../../../protocol/email-address.ts";
import { isDeliverable, type ComposedEmail } from "./email-transport.ts";
import { fileTransport } from "./open-mail.ts";
import { emailText } from "./compose-email.ts";

const parent = new TestDirectory();
let directory: string;
beforeEach(() => {
  directory = parent.join("emails");
});

const never = new AbortController().signal;
const message = (more: Partial<ComposedEmail> = {}): ComposedEmail => ({
  name: "invitation-1",
  from: "vaultsync@localhost",
  to: "bob@example.com",
  messageId: "<1@localhost>",
  date: new Date(Date.UTC(2026, 10, 21, 10, 0, 0, 7)),
  ...emailText({ about: "sign-up", link: "http://127.0.0.1:1/#/set-password?token=t" }),
  ...more,
});

test("writes each message to an owner-only file whose name sorts by time", async () => {
  await using transport = await fileTransport(directory);
  for (const [name, date] of [
    ["c", Date.UTC(2026, 10, 21, 10)],
    ["a", Date.UTC(2026, 10, 21, 10, 0, 0, 1)],
    ["b", Date.UTC(2026, 10, 21, 11)],
  ] as const) {
    await transport.send(message({ name, date: new Date(date) }), never);
  }
  const names = (await readdir(directory)).toSorted();
  expect(names).toEqual([
    "20261121T100000.000Z-c.eml",
    "20261121T100000.001Z-a.eml",
    "20261121T110000.000Z-b.eml",
  ]);
  for (const name of names) expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
});

test("fails when the directory is missing and leaves no incomplete file behind", async () => {
  await using transport = await fileTransport(directory);
  await rm(directory, { recursive: true });
  await expect(transport.send(message(), never)).rejects.toMatchObject({ code: "ENOENT" });
});

const FIELDS = [
  "auto-submitted",
  "from",
  "to",
  "subject",
  "message-id",
  "date",
  "mime-version",
  "content-type",
];

const local = (characters: string) =>
  fc.string({ unit: fc.constantFrom(...Array.from(characters)), minLength: 1, maxLength: 90 });

test("no sender or recipient address can add a header, a recipient or a part", async () => {
  await using transport = await fileTransport(directory);
  const address = fc
    .oneof(
      local("ab.=?_%+-ü漢😀'*"),
      local('ab,;:()[]=?_%ü"\\\r\n').map((text) => `"${text}"`),
      local('ab.@",;:<>()[]\r\n=?_ü\u00a0\u2028\u202e'),
    )
    .map((text) => `${text}@example.com`);
  const evil = fc.oneof(
    address,
    fc.constantFrom(
      "x@example.com\r\nBcc: eve@example.com",
      "=?utf-8?q?x=0D=0ABcc:eve@example.com",
      "x,eve@example.com",
    ),
  );
  await fc.assert(
    fc.asyncProperty(evil.filter(isDeliverable), evil.filter(isEmailAddress), async (to, from) => {
      const words = emailText({ about: "shared-sign-up", from, link: "https://v/#/x" });
      await transport.send(message({ to, ...words }), never);
      const mail = (await receivedMail(directory)).at(-1)!;
      expect([...mail.headers.keys()]).toEqual(FIELDS);
      expect(mail.to.replace(/^<(.*)>$/, "$1")).toBe(to);
      expect(mail.raw.split(/^--\S+$/m)).toHaveLength(4);
      expect(mail.link).toBe("https://v/#/x");
      expect(mail.html).not.toMatch(/<(?!\/?(?:!doctype|html|body|p|a)\b)/);
    }),
    { numRuns: 300 },
  );
});
