import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { auditEntries } from "../lab/vault/audit-entries.ts";
import { AUDIENCE, ISSUER, serviceAccount, TestIssuer } from "../lab/vault/identity-vault.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, VaultClient, type VaultResponse } from "../lab/vault/vault-client.ts";
import { createVaultData, type VaultData } from "../lab/vault/vault-data.ts";

const [ANN, BOB] = ["ann@example.com", "bob@example.com"];
const HOUR = 3_600_000;
const SHOP = serviceAccount("shop");
const directory = new TestDirectory();
const masterKey = generateMasterKey();

let clock: VirtualClock;
let data: VaultData;
let vault: TestVault;
let issuer: TestIssuer;
let keys: string;
let log: string;
beforeEach(async () => {
  [keys, log] = [directory.join("keys.json"), directory.join("audit.jsonl")];
  clock = new VirtualClock();
  issuer = await TestIssuer.create(keys);
  data = await createVaultData();
  vault = await started();
});
afterEach(async () => {
  await vault[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

const started = (emails = [ANN, BOB]): Promise<TestVault> =>
  TestVault.start({
    clock,
    emails,
    data: data.location,
    masterKey,
    auditLog: { file: log },
    identities: { issuers: [{ issuer: ISSUER, keys }], audiences: [AUDIENCE] },
  });

/** Runs `vaultsync vault` in another process: it waits for the writes of the server. */
const command = (...args: readonly string[]) =>
  VaultsyncProcess.run(["vault", ...args], {
    env: {
      VAULTSYNC_VAULT_DATA: data.location,
      VAULTSYNC_VAULT_MASTER_KEY: Buffer.from(masterKey.reveal()).toString("base64"),
    },
  });
const identity = (...args: readonly string[]) => command("identity", ...args);
const ref = (account = "shop/vaultsync") => ["--issuer", ISSUER, "--service-account", account];
const add = (email = ANN, ...more: readonly string[]) => identity("add", email, ...ref(), ...more);

type Claims = Omit<Parameters<TestIssuer["token"]>[1], "now">;
const tokenOf = (subject = SHOP, options: Claims = {}): Promise<string> =>
  issuer.token(subject, { now: clock.now(), ...options });

const exchange = (identity_token: string, more: object = {}): Promise<VaultResponse> =>
  vault.post(operationPath.exchange_identity_token, {
    email: ANN,
    identity_token,
    expiration_hours: 24,
    ...more,
  });

/** Returns the status of a request with an access token. */
const use = async (access: string, email = ANN): Promise<string> =>
  (await new VaultClient(vault.url, email, { token: access }).call("list_no_dup")).outcome();

const REJECTED = "401 invalid_credentials";

/** Returns the responses to tokens, without duplicates. */
const responsesTo = async (
  ...tokens: readonly (string | { readonly token: string; readonly email: string })[]
): Promise<string[]> => {
  const seen = new Set<string>();
  for (const one of tokens) {
    const { token, ...more } = typeof one === "string" ? { token: one } : one;
    const response = await exchange(token, more);
    seen.add(`${response.outcome()}: ${response.json().error?.message}`);
  }
  return [...seen];
};
const rejected = [`${REJECTED}: the identity is not accepted`];

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Returns the lines that commands left in the audit log, after the next sweep. */
async function adminLines(): Promise<string[]> {
  await clock.advance(10_000);
  const entries = (await auditEntries(log)).filter(({ event }) => event === "admin");
  return entries.map(({ action, user, identity: whose }) => `${action} ${user} ${whose}`);
}

describe("a workload with an identity", () => {
  test("logs in, and lists and writes secrets of its account", async () => {
    expect(await add()).toMatchObject({
      code: 0,
      stderr: `${SHOP} of ${ISSUER} may log in to ${ANN}\n`,
    });
    const response = await exchange(await tokenOf(), { email: "Ann@Example.com" });
    expect(response.json()).toMatchObject({ expires_in: 86_400, scope: scopeString() });
    const { access_token: token } = response.json();
    const client = new VaultClient(vault.url, ANN, { token });
    await client.call("protect", { key_name: "shop-db", key_value: "v" });
    expect((await client.call("expose", { key_name: "shop-db" })).json()).toMatchObject({
      key_value: "v",
      owner: ANN,
    });
  });

  test("gets tokens that end together after a day at most, even when refreshed", async () => {
    await add();
    const first = (await exchange(await tokenOf(), { expiration_hours: 1_000_000 })).json();
    expect(first.expires_in).toBe(86_400);
    clock.stepWall(23 * HOUR);
    const refresh = () =>
      vault.post(operationPath.refresh_token, {
        refresh_token: first.refresh_token,
        used_access_token: first.access_token,
      });
    const second = await refresh();
    expect(second.json().expires_in).toBe(3_600);
    clock.stepWall(HOUR);
    expect(await use(second.json().access_token)).toBe("401 invalid_token");
    expect((await refresh()).outcome()).toBe("401 invalid_refresh_token");
  });

  test("gets the scope that it may reach at most, and a narrower one when it asks", async () => {
    const scope = scopeString({ secret_name: ["a", "b"] });
    const narrow = scopeString({ secret_name: ["a"] });
    await add(ANN, "--scope", scope);
    expect((await exchange(await tokenOf())).json().scope).toBe(scope);
    expect((await exchange(await tokenOf(), { scope: narrow })).json().scope).toBe(narrow);
    for (const wider of [scopeString(), scopeString({ secret_name: ["a", "c"] })])
      expect((await exchange(await tokenOf(), { scope: wider })).outcome()).toBe(
        "400 invalid_scope",
      );
  });

  test("is named in the list of tokens, and in the audit log without its token", async () => {
    await add();
    const token = await tokenOf();
    expect((await exchange(token)).outcome()).toBe("200");
    await clock.advance(1_000);
    const { tokens } = (await (await vault.client(ANN)).call("token_list")).json();
    expect(tokens).toMatchObject([{}, { kind: "token", name: SHOP }]);
    const lines = (await auditEntries(log)).filter(
      ({ operation }) => operation === "exchange_identity_token",
    );
    const about = { expiration_hours: 24, identity: `${ISSUER} ${SHOP}` };
    expect(lines).toMatchObject([
      { phase: "begin", who: ANN, about },
      { phase: "end", who: ANN, status: 200 },
    ]);
    expect(JSON.stringify(await auditEntries(log))).not.toContain(token.split(".")[2]);
  });

  test("has at most 100 logins: the oldest one ends", async () => {
    await add();
    const logins = [];
    for (let number = 0; number <= 100; number += 1) {
      logins.push((await exchange(await tokenOf())).json().access_token);
      await clock.advance(1_000);
    }
    expect(await use(logins[0])).toBe("401 invalid_token");
    expect(await use(logins[1])).toBe("200");
  });

  test("cannot log in to a disabled account", async () => {
    await add();
    await command("user", "disable", ANN, "--yes");
    expect((await exchange(await tokenOf())).outcome()).toBe(REJECTED);
    await command("user", "enable", ANN);
    expect((await exchange(await tokenOf())).status).toBe(200);
  });
});

describe("tokens that are not accepted get one response", () => {
  test.each<[string, Claims]>([
    ["for another audience", { claims: { aud: "https://other.example.com" } }],
    ["of another issuer", { claims: { iss: "https://other.example.com" } }],
    ["without an expiry", { without: ["exp"] }],
    ["without the time of its issue", { without: ["iat"] }],
    ["without a subject", { without: ["sub"] }],
    ["without an audience", { without: ["aud"] }],
    ["with an unknown key", { kid: "key-9" }],
    ["valid for longer than a day", { claims: { exp: Date.UTC(2036, 0) / 1000 } }],
    ["that is not valid yet", { claims: { nbf: Date.UTC(2035, 0) / 1000 } }],
  ])("%s", async (_, options) => {
    await add();
    expect(await responsesTo(await tokenOf(SHOP, options))).toEqual(rejected);
  });

  test("of another ServiceAccount, account or user", async () => {
    await add();
    const responses = await responsesTo(
      await tokenOf(serviceAccount("shop", "default")),
      await tokenOf(serviceAccount("shop2")),
      { token: await tokenOf(), email: BOB },
      { token: await tokenOf(), email: "nobody@example.com" },
    );
    expect(responses).toEqual(rejected);
  });

  test("that expired, with a tolerance of 30 seconds for the clocks", async () => {
    await add();
    const token = await tokenOf();
    await clock.advance(625_000);
    expect((await exchange(token)).status).toBe(200);
    await clock.advance(6_000);
    expect(await responsesTo(token)).toEqual(rejected);
  });

  test("that are forged: changed, unsigned, or signed with the public key as a secret", async () => {
    await add();
    const [header = "", payload = "", signature = ""] = (await tokenOf()).split(".");
    const [other = ""] = (await tokenOf(serviceAccount("other"))).split(".").slice(1);
    const [publicKey] = (await issuer.keySet()).keys;
    const head = encode({ alg: "HS256", kid: "key-1" });
    const mac = createHmac("sha256", JSON.stringify(publicKey)).update(`${head}.${payload}`);
    const responses = await responsesTo(
      [header, other, signature].join("."),
      [encode({ alg: "none" }), payload, ""].join("."),
      [head, payload, mac.digest("base64url")].join("."),
      `${header}.${payload}`,
      "x",
      "a.b.c",
      "....",
    );
    expect(responses).toEqual(rejected);
  });

  test("after an identity was written by SQL, copied or changed", async () => {
    await add();
    const other = serviceAccount("other");
    await data.run(`INSERT INTO identities (issuer, subject, email, scope, created_at)
      VALUES ('${ISSUER}', '${other}', '${ANN}', '${scopeString()}', 0)`);
    expect(await responsesTo(await tokenOf(other))).toEqual(rejected);
    await data.run(`DELETE FROM identities WHERE subject = '${other}'`);
    await data.run(`UPDATE identities SET subject = '${other}'`);
    expect(await responsesTo(await tokenOf(other))).toEqual(rejected);
    await data.run(`UPDATE identities SET subject = '${SHOP}', email = '${BOB}'`);
    expect(await responsesTo({ token: await tokenOf(), email: BOB })).toEqual(rejected);
    expect(await vault.metric('vaultsync_vault_damaged_rights_total{table="identities"}')).toBe(3);
  });
});

test("failures of a network are throttled, and valid tokens from there are not", async () => {
  await vault[Symbol.asyncDispose]();
  vault = await TestVault.start({
    clock,
    emails: [],
    data: data.location,
    masterKey,
    identities: { issuers: [{ issuer: ISSUER, keys }], audiences: [AUDIENCE] },
    limits: { loginFailuresPerNetwork: 3, loginFailuresPerAccount: 3 },
  });
  await add();
  const outcomes = [];
  for (let number = 0; number < 4; number += 1) outcomes.push((await exchange("x.y.z")).outcome());
  expect(outcomes).toEqual([REJECTED, REJECTED, REJECTED, "429 rate_limited"]);
  expect((await exchange(await tokenOf())).status).toBe(200);
});

test("a server without issuers has no such operation", async () => {
  await using other = await TestVault.start();
  const response = await other.post(operationPath.exchange_identity_token, {
    email: ANN,
    identity_token: await tokenOf(),
    expiration_hours: 1,
  });
  expect(response.outcome()).toBe("404 not_found");
});

describe("the keys of an issuer", () => {
  test("rotate without a restart: a token with a new key makes the server read them", async () => {
    await add();
    expect((await exchange(await tokenOf())).status).toBe(200);
    await issuer.addKey();
    await issuer.publish(keys);
    await clock.advance(11_000);
    expect((await exchange(await tokenOf())).status).toBe(200);
  });

  test("that no server can read at its start are an error", async () => {
    for (const [file, reason] of [
      [directory.join("missing.json"), "no such file"],
      [log, "expected a JWKS"],
    ] as const) {
      const issuers = ["--identity-issuers", `${ISSUER}=${file}`];
      const flags = ["--dev", ...issuers, "--identity-audiences", AUDIENCE];
      const { code, stderr } = await VaultsyncProcess.run(["vault", "serve", ...flags]);
      expect(code).toBe(2);
      expect(stderr).toContain(`--identity-issuers: cannot read the keys of ${ISSUER}`);
      expect(stderr).toContain(reason);
    }
  });

  test("that cannot be read make the server respond with 503, until they can", async () => {
    await add();
    await vault[Symbol.asyncDispose]();
    const [file, missing] = [keys, directory.join("missing.json")];
    keys = missing;
    vault = await started([]);
    expect((await exchange(await tokenOf())).outcome()).toBe("503 unavailable");
    await issuer.publish(missing);
    await clock.advance(11_000);
    expect((await exchange(await tokenOf())).status).toBe(200);
    keys = file;
  });
});

describe("vaultsync vault identity", () => {
  test("lists identities, and replaces one", async () => {
    const narrow = scopeString({ classification: ["top"] });
    await add();
    await identity("add", BOB, ...ref("blog/vaultsync"), "--scope", narrow);
    const first = (await exchange(await tokenOf())).json().access_token;
    expect((await identity("list")).stdout).toBe(
      `${BOB}\t${ISSUER}\t${serviceAccount("blog")}\t${narrow}\n${ANN}\t${ISSUER}\t${SHOP}\t${scopeString()}\n`,
    );
    await add(BOB);
    expect(await use(first)).toBe("401 invalid_token");
    expect((await exchange(await tokenOf())).outcome()).toBe(REJECTED);
    expect((await exchange(await tokenOf(), { email: BOB })).status).toBe(200);
  });

  test("removes an identity with its tokens, and leaves the other logins", async () => {
    await add();
    const [own, other] = [await exchange(await tokenOf()), await vault.logIn(ANN)];
    expect(await identity("remove", ...ref())).toMatchObject({
      code: 0,
      stderr: `${SHOP} of ${ISSUER} may no longer log in to ${ANN}\n`,
    });
    expect(await use(own.json().access_token)).toBe("401 invalid_token");
    expect(await use(other.json().access_token)).toBe("200");
    expect((await exchange(await tokenOf())).outcome()).toBe(REJECTED);
    expect(await identity("remove", ...ref())).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no such identity") as string,
    });
  });

  test("leaves lines in the audit log", async () => {
    await add();
    await identity("remove", ...ref());
    await expect
      .poll(adminLines)
      .toEqual(
        ["add-identity", "remove-identity"].map((action) => `${action} ${ANN} ${ISSUER} ${SHOP}`),
      );
  });

  test.each([
    ["an account that does not exist", ["add", "eve@example.com", ...ref()], "no user has this"],
    ["an invalid scope", ["add", ANN, ...ref(), "--scope", "secret_name:a"], "is missing"],
    ["no subject", ["add", ANN, "--issuer", ISSUER], "--service-account or --subject"],
    ["a malformed ServiceAccount", ["add", ANN, ...ref("shop")], "expected NAMESPACE/NAME"],
  ])("refuses %s", async (_, args, message) => {
    const { code, stderr } = await identity(...args);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(message);
  });

  test("ends with its account", async () => {
    await add();
    await command("user", "delete", ANN, "--yes");
    expect((await identity("list")).stdout).toBe("");
  });
});
