import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Canaries } from "../lab/assertions/canary.ts";
import { mailTo, receivedMail, TestSmtpServer } from "../lab/mail/smtp-server.ts";
import { recordingLogger } from "../lab/assertions/recording-logger.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, sendRequest, type VaultClient } from "../lab/vault/vault-client.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { Redacted } from "../../src/lib/redacted.ts";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { parseSmtpUrl } from "../../src/vault/server/mail/smtp-url.ts";
import type { VaultServerOptions } from "../../src/vault/server/vault-server.ts";

const ANN = "ann@example.com";
const PASSWORD = "a password of one's own";

async function vaultOf(
  options: Partial<VaultServerOptions> & { readonly emails?: readonly string[] } = {},
) {
  const vault = await TestVault.start(options);
  onTestFinished(() => vault[Symbol.asyncDispose]());
  return { vault, ann: await vault.client(ANN) };
}

const smtpOf = ({ port }: TestSmtpServer) => ({
  smtp: new Redacted(parseSmtpUrl(`smtp://127.0.0.1:${port}`)),
});

async function share(caller: VaultClient, key_name: string, to: object) {
  return caller.call("share", { key_name, permission: "R", usr_id_from: caller.email, ...to });
}

test("a recipient without an account sees the share after following the email's link", async () => {
  const { vault, ann } = await vaultOf();
  await ann.call("protect", { key_name: "shop-db", key_value: "the value" });
  expect(
    (await share(ann, "shop-db", { usr_id_to: "New@Example.com" })).json().shared[0].state,
  ).toBe("invited");
  const mail = await mailTo(vault.mailDirectory, "new@example.com");
  expect(mail.subject).toBe("Something was shared with you");
  expect(mail.link).toBe(`${vault.url}/#/set-password?token=${mail.token}`);
  expect(
    (
      await vault.post(sessionOperationPath.app_set_password, {
        token: mail.token,
        password: PASSWORD,
      })
    ).outcome(),
  ).toBe("200");
  const response = await vault.logIn("new@example.com", { password: PASSWORD });
  const reader = { email: "new@example.com", authorization: response.json().access_token };
  const body = { email: reader.email, key_name: "shop-db" };
  const seen = await vault.post("/v1/user/secret/expose_link", body, {
    authorization: reader.authorization,
  });
  expect(seen.json().key_value).toBe("the value");
  const again = await vault.post(sessionOperationPath.app_set_password, {
    token: mail.token,
    password: PASSWORD,
  });
  expect(again.outcome()).toBe("401 invalid_confirmation");
});

test("an invitation's link works for seven days", async () => {
  const clock = new VirtualClock();
  const { vault, ann } = await vaultOf({ clock });
  await ann.call("protect", { key_name: "a", key_value: "v" });
  for (const [days, outcome] of [
    [7, "401 invalid_confirmation"],
    [6.99, "200"],
  ] as const) {
    const email = `after-${days}@example.com`;
    const caller = await vault.client(ANN, scopeString(), 1000);
    await share(caller, "a", { usr_id_to: email });
    const { token } = await mailTo(vault.mailDirectory, email);
    clock.stepWall(days * 86_400_000);
    const response = await vault.post(sessionOperationPath.app_set_password, {
      token,
      password: PASSWORD,
    });
    expect(response.outcome(), `${days} days`).toEqual(outcome);
  }
});

test("a link points to --app-url, and the sender has its host", async () => {
  const { vault, ann } = await vaultOf({ appUrl: "https://vault.example.com/" });
  await ann.call("protect", { key_name: "a", key_value: "v" });
  await share(ann, "a", { usr_id_to: ["new@example.com", "bob@example.com"] });
  const [signUp, logIn] = [
    await mailTo(vault.mailDirectory, "new@example.com"),
    await mailTo(vault.mailDirectory, "bob@example.com"),
  ];
  expect(signUp.link).toBe(`https://vault.example.com/#/set-password?token=${signUp.token}`);
  expect(logIn.link).toBe("https://vault.example.com/#/login");
  expect(signUp.headers.get("from")).toBe("Vaultsync <vaultsync@vault.example.com>");
  expect(signUp.headers.get("message-id")).toMatch(/^<[\w-]{36}@vault\.example\.com>$/);
});

test("a share to a team emails each member without a session once for all secrets", async () => {
  const emails = [ANN, "live@example.com", "idle@example.com"];
  const { vault, ann } = await vaultOf({ emails });
  await vault.client("live@example.com");
  await ann.call("team_create", {
    group_id: "team",
    members: ["live@example.com", "idle@example.com", "new@example.com"],
  });
  for (const key_name of ["a", "b", "c"]) await ann.call("protect", { key_name, key_value: "v" });
  await ann.call("share", {
    key_name: ["a", "b", "c"],
    permission: "R",
    usr_id_from: ANN,
    group_id_to: "team",
  });
  for (const email of ["idle@example.com", "new@example.com"])
    await mailTo(vault.mailDirectory, email);
  const told = (await receivedMail(vault.mailDirectory)).map(({ to }) => to);
  expect(told.toSorted()).toEqual(["idle@example.com", "new@example.com"]);
});

test("shares succeed while the mail server is slow and queue no duplicate email", async () => {
  const held = Promise.withResolvers<void>();
  await using smtp = await TestSmtpServer.start({ data: () => held.promise });
  const { ann } = await vaultOf({ mail: smtpOf(smtp) });
  for (const key_name of ["a", "b", "c"]) {
    await ann.call("protect", { key_name, key_value: "v" });
    expect((await share(ann, key_name, { usr_id_to: "new@example.com" })).outcome()).toBe("200");
  }
  expect(smtp.deliveries).toEqual([]);
  held.resolve();
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
  await share(ann, "a", { usr_id_to: "last@example.com" });
  await expect.poll(() => smtp.deliveries.at(-1)?.to).toEqual(["last@example.com"]);
  expect(smtp.deliveries).toHaveLength(2);
});

test("a share succeeds while SMTP is down, and the email is sent afterwards", async () => {
  await using smtp = await TestSmtpServer.start();
  await smtp.goAway();
  const { logger, lines } = recordingLogger();
  const clock = new VirtualClock();
  const { ann } = await vaultOf({ mail: smtpOf(smtp), logger, clock });
  await ann.call("protect", { key_name: "a", key_value: "v" });
  expect((await share(ann, "a", { usr_id_to: "new@example.com" })).json().shared[0].state).toBe(
    "invited",
  );
  await expect.poll(() => lines.filter(({ level }) => level === "warn")).toHaveLength(2);
  await smtp.comeBack();
  const later = async () => {
    await clock.advance(5_000);
    return smtp.deliveries.map(({ to }) => to);
  };
  await expect.poll(later, { timeout: 20_000 }).toEqual([["new@example.com"]]);
});

test("the server reports the directory of emails in its log and result", async () => {
  const { logger, lines } = recordingLogger();
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await using named = await TestVault.start({ mail: { directory }, logger });
  expect(named.mailDirectory).toEqual(directory);
  expect(lines.find(({ fields }) => "url" in fields)?.fields["mailDir"]).toEqual(directory);
});

test("the server refuses to start with an invalid sender", async () => {
  await expect(
    TestVault.start({ mail: { from: "vault\r\nBcc: eve@example.com" } }),
  ).rejects.toThrow("invalid sender address");
});

test("emails, logs and metrics contain no value, name, password, token or others' proof", async () => {
  const canaries = new Canaries();
  const [value, secretName, description] = [
    canaries.text("value"),
    canaries.text("secret name"),
    canaries.text("metadata"),
  ];
  const { logger, lines } = recordingLogger();
  const { vault, ann } = await vaultOf({ logger });
  const known: string[] = [ann.token, ...vault.passwords.values()];
  await ann.call("protect", { key_name: secretName, key_value: value, metadata: { description } });
  await share(ann, secretName, { usr_id_to: ["new@example.com", "bob@example.com"] });
  await vault.post(sessionOperationPath.app_request_password, { email: ANN });
  const emails = await Promise.all(
    ["new@example.com", "bob@example.com", ANN].map((to) => mailTo(vault.mailDirectory, to)),
  );
  const mails = emails.map(({ raw, text, html }) => raw + text + html).join("\n");
  const metrics = (
    await sendRequest(`${vault.metricsUrl}/metrics`, { method: "GET" })
  ).bytes.toString();
  const log = JSON.stringify(lines);
  expect(canaries.tracesIn({ mails, metrics, log })).toEqual([]);
  for (const secret of known)
    expect([mails, metrics, log].some((text) => text.includes(secret))).toBe(false);
  const [proof = ""] = emails.map(({ token }) => token);
  expect(proof).toMatch(/^[\w-]{43}$/);
  expect([metrics, log].some((text) => text.includes(proof))).toBe(false);
  expect(log).not.toMatch(/new@example|bob@example/);
});
