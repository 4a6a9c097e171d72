import { beforeEach, describe, expect, test } from "vitest";
import { mailTo, receivedMail } from "../lab/mail/smtp-server.ts";
import { KeyRing } from "../../src/vault/server/crypto/key-ring.ts";
import { openStore } from "../../src/vault/server/store/open-store.ts";
import { RowMacs } from "../../src/vault/server/store/row-macs.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { createVaultData } from "../lab/vault/vault-data.ts";
import { WebSession } from "../lab/vault/web-session.ts";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";

const ANN = "ann@example.com";
const CHANGED = "Your password was changed";
const NEW = "another-long-password";

let vault: TestVault;
beforeEach(async () => {
  vault = await TestVault.start({ clock: new VirtualClock(), signUp: { mode: "open" } });
  return () => vault[Symbol.asyncDispose]();
});

const change = (session: WebSession, body: object = {}) =>
  session.app("app_change_password", {
    password: vault.passwords.get(ANN),
    new_password: NEW,
    ...body,
  });
const linkOf = async (email: string) => {
  await vault.post(sessionOperationPath.app_request_password, { email });
  return (await mailTo(vault.mailDirectory, email)).token;
};
const confirm = (token: string) => vault.post(sessionOperationPath.app_confirmation, { token });
const setPassword = (token: string, password: string) =>
  vault.post(sessionOperationPath.app_set_password, { token, password });

describe("app_change_password", () => {
  test("ends all sessions, tokens and links, starts a session and sends an email", async () => {
    const token = await linkOf(ANN);
    const [session, other] = [
      await WebSession.logIn(vault, ANN),
      await WebSession.logIn(vault, ANN),
    ];
    const program = await vault.client(ANN);
    const response = await change(session);
    const renewed = new WebSession(vault.url, response);
    expect(renewed.email).toEqual(ANN);
    expect(await renewed.isLive()).toBe(true);
    expect(await session.isLive()).toBe(false);
    expect(await other.isLive()).toBe(false);
    expect((await program.call("list_no_dup")).outcome()).toBe("401 invalid_token");
    expect((await setPassword(token, "yet-another-password")).outcome()).toBe(
      "401 invalid_confirmation",
    );
    expect((await vault.logIn(ANN)).outcome()).toBe("401 invalid_credentials");
    expect((await vault.logIn(ANN, { password: NEW })).outcome()).toBe("200");
    const mail = await mailTo(vault.mailDirectory, ANN, CHANGED);
    expect(mail.link).toEqual(`${vault.url}/#/forgot-password`);
    expect(mail.text).toEqual(
      expect.stringContaining("The password of your Vaultsync account was changed"),
    );
  });

  test("requires the current password and the session with its CSRF token", async () => {
    const session = await WebSession.logIn(vault, ANN);
    expect((await change(session, { password: "wrong" })).outcome()).toBe(
      "401 invalid_credentials",
    );
    const body = { password: vault.passwords.get(ANN), new_password: NEW };
    expect((await vault.post(sessionOperationPath.app_change_password, body)).outcome()).toBe(
      "401 invalid_token",
    );
    const forged = await vault.post(sessionOperationPath.app_change_password, body, {
      cookie: session.cookie,
    });
    expect(forged.outcome()).toBe("403 csrf_failed");
    expect(await session.isLive()).toBe(true);
  });

  test.each([
    "short",
    "password1234",
    "Administrator!!",
    "aaaaaaaaaaaa",
    "abcabcabcabcabc",
    "ann@example.com",
    12,
  ])("rejects %j and changes nothing", async (newPassword) => {
    const session = await WebSession.logIn(vault, ANN);
    const response = await change(session, { new_password: newPassword });
    expect(response.outcome()).toBe("400 invalid_request");
    expect(response.json().error.details).toEqual([
      { path: "new_password", reason: expect.any(String) },
    ]);
    expect(await session.isLive()).toBe(true);
    expect((await vault.logIn(ANN)).outcome()).toBe("200");
  });
});

describe("a link in an email", () => {
  test("names whose password it sets, without being used up", async () => {
    const token = await linkOf("New@example.com".toLowerCase());
    expect((await confirm(token)).json()).toEqual({ email: "new@example.com", invited_by: [] });
    const ann = await vault.client(ANN);
    await ann.call("protect", { key_name: "for-new", key_value: "v" });
    await ann.call("share", {
      key_name: "for-new",
      permission: "R",
      usr_id_from: ANN,
      usr_id_to: "new@example.com",
    });
    expect((await confirm(token)).json()).toEqual({ email: "new@example.com", invited_by: [ANN] });
    expect((await setPassword(token, NEW)).outcome()).toBe("200");
    expect((await confirm(token)).outcome()).toBe("401 invalid_confirmation");
    expect((await confirm("unknown")).outcome()).toBe("401 invalid_confirmation");
    const foreign = await vault.post(
      sessionOperationPath.app_confirmation,
      { token },
      { origin: "https://evil.example" },
    );
    expect(foreign.outcome()).toBe("403 csrf_failed");
  });

  test("reports a replaced password by email, and a new account by none", async () => {
    expect((await setPassword(await linkOf(ANN), NEW)).outcome()).toBe("200");
    await mailTo(vault.mailDirectory, ANN, CHANGED);
    expect((await setPassword(await linkOf("new@example.com"), NEW)).outcome()).toBe("200");
    await linkOf("bob@example.com");
    const reports = (await receivedMail(vault.mailDirectory)).filter(
      ({ subject }) => subject === CHANGED,
    );
    expect(reports.map(({ to }) => to)).toEqual([ANN]);
  });

  test("ends the session that the browser had for another account", async () => {
    const former = await WebSession.logIn(vault, "bob@example.com");
    const elsewhere = await WebSession.logIn(vault, "bob@example.com");
    const body = { token: await linkOf(ANN), password: NEW };
    const { app_set_password: path } = sessionOperationPath;
    const response = await vault.post(path, body, { cookie: former.cookie });
    expect(await new WebSession(vault.url, response).isLive()).toBe(true);
    expect(await former.isLive()).toBe(false);
    expect(await elsewhere.isLive()).toBe(true);
  });

  test("is not used up by a common password", async () => {
    const token = await linkOf(ANN);
    const rejected = await setPassword(token, "Password1234!");
    expect(rejected.json().error.details).toEqual([
      { path: "password", reason: expect.stringContaining("most common") },
    ]);
    expect((await setPassword(token, NEW)).outcome()).toBe("200");
  });
});

describe("after the cost of password hashes was raised", () => {
  const former = { memoryKib: 8, passes: 1, lanes: 1 };
  const current = { memoryKib: 64, passes: 1, lanes: 1 };

  test("a login replaces the hash, and each login takes the time of both costs", async () => {
    await using data = await createVaultData();
    const shared = {
      data: data.location,
      masterKey: generateMasterKey(),
      clock: new VirtualClock(),
    };
    const before = await TestVault.start({ ...shared, passwordCost: former });
    const { passwords } = before;
    await before[Symbol.asyncDispose]();

    await using raised = await TestVault.start({
      ...shared,
      dev: { users: ["cid@example.com"] },
      passwordCost: current,
    });
    const hashed = async () => [
      await raised.metric('vaultsync_vault_password_hashes_total{memory_kib="8"}'),
      await raised.metric('vaultsync_vault_password_hashes_total{memory_kib="64"}'),
    ];
    const costs = async () =>
      (await data.select("SELECT password_hash FROM users ORDER BY email")).map(
        (row) => /m=[0-9]+/u.exec(String(row["password_hash"]))?.[0],
      );
    let logins = 0;
    const logIn = async (email: string, password: string) => {
      const { status } = await raised.logIn(email, { password });
      logins += 1;
      expect(await hashed()).toEqual([logins, logins]);
      return status;
    };
    expect(await costs()).toEqual(["m=8", "m=8", "m=64"]);
    for (const email of [ANN, "cid@example.com", "nobody@example.com"])
      expect(await logIn(email, "wrong")).toBe(401);
    expect(await costs()).toEqual(["m=8", "m=8", "m=64"]);
    const password = passwords.get(ANN) ?? "";
    expect(await logIn(ANN, password)).toBe(200);
    expect(await costs()).toEqual(["m=64", "m=8", "m=64"]);
    expect(await logIn(ANN, password)).toBe(200);
    expect(await logIn(ANN, `${password}x`)).toBe(401);
  });

  test("concurrent first logins of one user all succeed, and their tokens last", async () => {
    await using data = await createVaultData();
    const shared = { data: data.location, masterKey: generateMasterKey() };
    const before = await TestVault.start({ ...shared, passwordCost: former });
    const password = before.passwords.get(ANN) ?? "";
    await before[Symbol.asyncDispose]();
    await using raised = await TestVault.start({
      ...shared,
      dev: { users: [] },
      passwordCost: current,
    });
    const responses = await Promise.all(
      Array.from({ length: 4 }, () => raised.logIn(ANN, { password })),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  test("a stored hash of a cost that is too high is not computed", async () => {
    await using data = await createVaultData();
    const shared = {
      data: data.location,
      masterKey: generateMasterKey(),
      clock: new VirtualClock(),
    };
    await using server = await TestVault.start(shared);
    const passwordHash = `$argon2id$v=19$m=4000000,t=9,p=1$${"A".repeat(22)}$${"A".repeat(43)}`;
    {
      await using store = await openStore(data.location, new RowMacs(KeyRing.of(shared.masterKey)));
      await store.write(({ users }) => users.setPasswordHash({ email: ANN, passwordHash }));
    }
    expect((await server.logIn(ANN)).outcome()).toBe("500 internal");
    expect((await server.logIn("bob@example.com")).outcome()).toBe("200");
    await using again = await TestVault.start({ ...shared, dev: { users: [] } });
    expect((await again.logIn("nobody@example.com", { password: "x" })).outcome()).toBe(
      "401 invalid_credentials",
    );
  });
});
