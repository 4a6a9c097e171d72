import { access, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { Canaries } from "../../../../test/lab/assertions/canary.ts";
import { mailTo, TestSmtpServer } from "../../../../test/lab/mail/smtp-server.ts";
import { recordingLogger } from "../../../../test/lab/assertions/recording-logger.ts";
import { TestVault } from "../../../../test/lab/vault/test-vault.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { tokenDigest } from "../accounts/opaque-token.ts";
import { openMail } from "./open-mail.ts";
import { parseSmtpUrl } from "./smtp-url.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
  onTestFinished(() => rm(directory, { recursive: true }));
});

test("writes emails next to a data file and keeps them", async () => {
  const data = join(directory, "vault.db");
  const mail = await openMail({}, data, silentLogger);
  await mail[Symbol.asyncDispose]();
  expect(mail.directory).toBe(`${data}-mail`);
  await expect(access(`${data}-mail`)).resolves.toBeUndefined();
});

test("writes emails of an in-memory server to a temporary directory and deletes it", async () => {
  const mail = await openMail({}, ":memory:", silentLogger);
  const opened = mail.directory ?? "";
  expect(dirname(opened)).toEqual(tmpdir());
  expect(basename(opened)).toEqual(expect.stringMatching(/^vaultsync-mail-/));
  await access(opened);
  await mail[Symbol.asyncDispose]();
  await expect(access(opened)).rejects.toMatchObject({ code: "ENOENT" });
});

test("writes emails of a PostgreSQL server to a temporary directory and keeps it", async () => {
  const mail = await openMail({}, "postgres://db.example.com/vault", silentLogger);
  const opened = mail.directory ?? "";
  onTestFinished(() => rm(opened, { recursive: true }));
  await mail[Symbol.asyncDispose]();
  await expect(access(opened)).resolves.toBeUndefined();
});

test("creates a given directory and keeps it, even for an in-memory server", async () => {
  const named = join(directory, "deep", "emails");
  const mail = await openMail({ directory: named }, ":memory:", silentLogger);
  await mail[Symbol.asyncDispose]();
  await expect(access(named)).resolves.toBeUndefined();
});

test("warns without a password when the SMTP server is down or rejects the login", async () => {
  await using smtp = await TestSmtpServer.start({ login: { user: "u", password: "right-8c11" } });
  const { logger, lines } = recordingLogger();
  const open = (url: string) =>
    openMail({ smtp: new Redacted(parseSmtpUrl(url)), smtpCa: smtp.ca }, ":memory:", logger);
  await open(`smtp://u:wrong-77d0@127.0.0.1:${smtp.port}?requireTLS=true`);
  await expect.poll(() => lines).toMatchObject([{ level: "warn", fields: { code: "EAUTH" } }]);
  await smtp.goAway();
  await open(`smtp://u:wrong-77d0@127.0.0.1:${smtp.port}?requireTLS=true`);
  await expect.poll(() => lines[1]).toMatchObject({ level: "warn", fields: { code: "ESOCKET" } });
  expect(JSON.stringify(lines)).not.toContain("wrong-77d0");
});

test("the data file contains only the digest of the proof in an email", async () => {
  const data = join(directory, "vault.db");
  const canaries = new Canaries();
  await using vault = await TestVault.start({ data });
  const ann = await vault.client("ann@example.com");
  await ann.call("protect", { key_name: "a", key_value: canaries.text("value") });
  await ann.call("share", {
    key_name: "a",
    permission: "R",
    usr_id_from: ann.email,
    usr_id_to: "new@example.com",
  });
  const { token } = await mailTo(vault.mailDirectory, "new@example.com");
  const files = (await readdir(directory)).filter(
    (name) => name.startsWith("vault.db") && !name.endsWith("-mail"),
  );
  const stored = Buffer.concat(
    await Promise.all(files.map((name) => readFile(join(directory, name)))),
  );
  expect(stored.includes(tokenDigest(token))).toBe(true);
  for (const form of [
    token,
    Buffer.from(token, "base64url"),
    Buffer.from(token, "base64url").toString("hex"),
    btoa(token),
  ]) {
    expect(stored.includes(form)).toBe(false);
  }
  expect(canaries.tracesIn({ stored: stored.toString("latin1") })).toEqual([]);
});
