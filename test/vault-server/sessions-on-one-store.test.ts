import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mailTo } from "../lab/mail/smtp-server.ts";
import { createVaultData } from "../lab/vault/vault-data.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultResponse } from "../lab/vault/vault-client.ts";
import { cookieOf, WebSession } from "../lab/vault/web-session.ts";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";

// Two servers behind one balancer: one store, one address of the application.
const running = new AsyncDisposableStack();
let one: TestVault;
let two: TestVault;
beforeAll(async () => {
  const data = running.use(await createVaultData());
  const directory = running.use(await mkdtempDisposable(join(tmpdir(), "vaultsync-test-"))).path;
  const shared = {
    data: data.location,
    masterKey: generateMasterKey(),
    mail: { directory },
    signUp: { mode: "open" } as const,
  };
  const options = { ...shared, appUrl: "http://localhost:8200" };
  one = running.use(await TestVault.start(options));
  two = running.use(await TestVault.start({ ...options, dev: { users: [] } }));
});
afterAll(() => running.disposeAsync());

/** The same browser, sent to the other server. */
async function atTwo(session: WebSession): Promise<WebSession> {
  const told = await two.post(sessionOperationPath.app_session, {}, session.credentials);
  return new WebSession(two.url, { ...told, headers: { "set-cookie": [session.cookie] } });
}

test("a session works at both servers, and a logout at one ends it at both", async () => {
  const session = await WebSession.logIn(one, "ann@example.com");
  const elsewhere = await atTwo(session);
  expect(elsewhere.csrf).toEqual(session.csrf);
  expect(await elsewhere.isLive()).toBe(true);
  await elsewhere.app("app_log_out");
  expect(await session.isLive()).toBe(false);
  expect(await elsewhere.isLive()).toBe(false);
});

test("an email requested at one server counts at the other, where its link works once", async () => {
  const body = { email: "new@example.com" };
  expect((await one.post(sessionOperationPath.app_request_password, body)).outcome()).toBe("200");
  expect((await two.post(sessionOperationPath.app_request_password, body)).outcome()).toBe(
    "429 rate_limited",
  );
  const { token, link } = await mailTo(one.mailDirectory, "new@example.com");
  expect(link).toMatch(/^http:\/\/localhost:8200\/#\/set-password\?token=/u);
  const follow = (vault: TestVault) =>
    vault.post(sessionOperationPath.app_set_password, { token, password: "a long password" });
  const responses = await Promise.all([follow(one), follow(two), follow(one), follow(two)]);
  const outcomes = responses.map((response) => response.outcome()).toSorted();
  expect(outcomes).toEqual(["200", ...Array.from({ length: 3 }, () => "401 invalid_confirmation")]);
  expect(cookieOf(responses.find(({ status }) => status === 200)!)).toMatch(
    /^vaultsync_session=[\w-]{43}$/u,
  );
});

function logIn(vault: TestVault, password: string): Promise<VaultResponse> {
  return vault.post(sessionOperationPath.app_log_in, { email: "bob@example.com", password });
}

test("failed logins at one server throttle those at the other", async () => {
  for (const vault of [one, two, one, two, one]) {
    expect((await logIn(vault, "wrong")).outcome()).toBe("401 invalid_credentials");
  }
  expect((await logIn(two, one.passwords.get("bob@example.com") ?? "")).outcome()).toBe(
    "429 rate_limited",
  );
});
