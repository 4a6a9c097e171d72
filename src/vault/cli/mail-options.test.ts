import { writeFile } from "node:fs/promises";
import { afterEach, expect, test, vi } from "vitest";
import { TestDirectory } from "../../../test/lab/test-directory.ts";
import { mailOptions } from "./mail-options.ts";

const PASSWORD = "canary-9c17";
const directory = new TestDirectory();
afterEach(() => vi.unstubAllEnvs());

let files = 0;
async function file(text: string): Promise<string> {
  const path = directory.join(`given-${(files += 1)}`);
  await writeFile(path, text);
  return path;
}

test("the SMTP server comes from a file or the environment, and never prints its password", async () => {
  const server = {
    host: "mail.example.com",
    port: 465,
    tls: "implicit",
    user: "u",
    password: PASSWORD,
  };
  const url = `smtps://u:${PASSWORD}@mail.example.com`;
  const fromFile = await mailOptions({
    smtpUrlFile: await file(`${url}\n`),
    mailFrom: "vault@example.com",
  });
  expect(fromFile.smtp?.reveal()).toEqual(server);
  expect(fromFile.from).toBe("vault@example.com");
  vi.stubEnv("VAULTSYNC_VAULT_SMTP_URL", url);
  expect((await mailOptions({ smtpCaFile: await file("PEM") })).smtpCa).toBe("PEM");
  const fromEnvironment = await mailOptions({});
  expect(fromEnvironment.smtp?.reveal()).toEqual(server);
  expect(JSON.stringify(fromEnvironment)).not.toContain(PASSWORD);
});

test("emails are files without an SMTP server", async () => {
  expect(await mailOptions({})).toEqual({});
  expect(await mailOptions({ mailDir: "emails" })).toEqual({ directory: "emails" });
  vi.stubEnv("VAULTSYNC_VAULT_SMTP_URL", "");
  expect(await mailOptions({})).toEqual({});
});

const refused = async (flags: Parameters<typeof mailOptions>[0]) =>
  String(await mailOptions(flags).catch((error: unknown) => error));

test("rejects contradictory options without quoting the URL", async () => {
  const smtpUrlFile = await file(`smtp://u:${PASSWORD}@mail.example.com?requireTLS=false`);
  for (const [flags, why] of [
    [{ smtpUrlFile }, "without TLS"],
    [
      { smtpUrlFile: await file(`smtps://u:${PASSWORD}@mail.example.com`), mailDir: "emails" },
      "not both",
    ],
    [{ smtpCaFile: smtpUrlFile }, "requires an SMTP URL"],
  ] as const) {
    const failure = await refused(flags);
    expect(failure).toContain(why);
    expect(failure).not.toContain(PASSWORD);
  }
});
