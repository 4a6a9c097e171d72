import { describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, sendRequest, VaultClient } from "../lab/vault/vault-client.ts";
import { WebSession } from "../lab/vault/web-session.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import type { CredentialRecord } from "../../src/protocol/responses.ts";
import { sessionOperationPath, operationPath } from "../../src/protocol/operation-paths.ts";
import type { Limits } from "../../src/vault/server/limits.ts";

const HOUR = 3_600_000;

const clock = new VirtualClock();
const { vault } = await useVault({ clock });

const password = (): string => vault.passwords.get("ann@example.com") ?? "";
const issue = async () => {
  const session = await WebSession.logIn(vault, "ann@example.com");
  return session.app("app_api_token", { password: password() });
};
const isAccepted = async (token: string) =>
  (await new VaultClient(vault.url, "ann@example.com", { token }).call("list_no_dup")).status ===
  200;

describe("access token copied from the web application", () => {
  test("is unlimited, lives for 24 hours and has a refresh token", async () => {
    const response = await issue();
    expect(response.outcome()).toBe("200");
    expect(response.headers["cache-control"]).toBe("no-store");
    expect(response.headers["set-cookie"]).toBeUndefined();
    const pair = response.json();
    expect(pair).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/u),
      expires_in: 86_400,
      id_token: expect.any(String),
      refresh_token: expect.stringMatching(/^[\w-]{43}$/u),
      scope: scopeString(),
      token_type: "access",
    });
    clock.stepWall(24 * HOUR - 1);
    expect(await isAccepted(pair.access_token)).toBe(true);
    clock.stepWall(1);
    expect(await isAccepted(pair.access_token)).toBe(false);
    const body = { refresh_token: pair.refresh_token, used_access_token: pair.access_token };
    const again = (await vault.post(operationPath.refresh_token, body)).json();
    expect(again.expires_in).toBe(86_400);
    expect(await isAccepted(again.access_token)).toBe(true);
  });

  test("has the name, scope and lifetime that the user chooses, also after a refresh", async () => {
    const session = await WebSession.logIn(vault, "ann@example.com");
    const scope = scopeString({ environment_type: ["prod"] });
    const request = { password: password(), name: "backup script", scope, expiration_hours: 720 };
    const pair = (await session.app("app_api_token", request)).json();
    expect(pair.scope).toEqual(scope);
    expect(pair.expires_in).toEqual(720 * 3600);
    const body = { refresh_token: pair.refresh_token, used_access_token: pair.access_token };
    const again = (await vault.post(operationPath.refresh_token, body)).json();
    expect(again.scope).toEqual(scope);
    expect(again.expires_in).toEqual(720 * 3600);
    const listed: CredentialRecord[] = (await session.call("token_list")).json().tokens;
    expect(listed.filter(({ name }) => name === "backup script")).toMatchObject([
      { kind: "token", scope },
    ]);
  });

  test("is rejected with a broken scope, an empty name, and beyond the server's lifetime", async () => {
    const limited = await TestVault.start({ maxTokenHours: 48 });
    await using _stop = limited;
    const session = await WebSession.logIn(limited, "ann@example.com");
    const ask = async (request: object) =>
      (
        await session.app("app_api_token", {
          password: limited.passwords.get("ann@example.com"),
          ...request,
        })
      ).outcome();
    expect(await ask({ scope: "cloud_type:*" })).toBe("400 invalid_scope");
    expect(await ask({ name: "" })).toBe("400 invalid_request");
    expect(await ask({ expiration_hours: 49 })).toBe("400 invalid_request");
    expect(await ask({ expiration_hours: 48 })).toBe("200");
  });

  test("outlives the session", async () => {
    const session = await WebSession.logIn(vault, "ann@example.com");
    const { access_token: token } = (
      await session.app("app_api_token", { password: password() })
    ).json();
    await session.app("app_log_out");
    expect(await isAccepted(token)).toBe(true);
  });

  test("requires a session in addition to the password", async () => {
    const response = await vault.post(sessionOperationPath.app_api_token, { password: password() });
    expect(response.outcome()).toBe("401 invalid_token");
    const { access_token: token } = (await issue()).json();
    const path = vault.url + sessionOperationPath.app_api_token;
    const headers = { "content-type": "application/json", authorization: token };
    expect(
      (
        await sendRequest(path, { headers, body: JSON.stringify({ password: password() }) })
      ).outcome(),
    ).toBe("401 invalid_token");
  });

  test("requires the password; a wrong one counts as a failed login", async () => {
    const guarded = await TestVault.start({ clock: new VirtualClock() });
    await using _stop = guarded;
    const session = await WebSession.logIn(guarded, "ann@example.com");
    for (let i = 0; i < 5; i += 1) {
      expect((await session.app("app_api_token", { password: "wrong" })).outcome()).toBe(
        "401 invalid_credentials",
      );
    }
    const right = { password: guarded.passwords.get("ann@example.com") };
    expect((await session.app("app_api_token", right)).outcome()).toBe("429 rate_limited");
    expect((await guarded.logIn("ann@example.com")).outcome()).toBe("429 rate_limited");
    expect(await session.isLive()).toBe(true);
  });
});

const email = "ann@example.com";
const NARROW = scopeString({ secret_name: ["nothing"] });
/** Access tokens of the narrow login, from refreshes. */
const TOKENS = 8;

async function start(
  limits: Partial<Limits>,
): Promise<{ server: TestVault; owner: VaultClient; narrow: VaultClient[] }> {
  const server = await TestVault.start({ clock: new VirtualClock(), limits });
  const owner = await server.client(email);
  const { access_token: used_access_token, refresh_token } = (
    await server.logIn(email, { scope: NARROW })
  ).json();
  const narrow = [new VaultClient(server.url, email, { token: used_access_token })];
  while (narrow.length < TOKENS) {
    const refreshed = await narrow[0]!.post("/v1/user/refresh_token", {
      refresh_token,
      used_access_token,
    });
    narrow.push(new VaultClient(server.url, email, { token: refreshed.json().access_token }));
  }
  return { server, owner, narrow };
}

test("the tokens of one login take a quarter of the waits of an account", async () => {
  const { server, owner, narrow } = await start({ waitingListsPerAccount: 200 });
  await using _vault = server;
  const etag = (await narrow[0]!.call("list_no_dup")).headers.etag;
  const waiting = narrow.flatMap((token) =>
    Array.from({ length: 10 }, () =>
      token.call("list_no_dup", {}, { "if-none-match": etag, prefer: "wait=50" }),
    ),
  );
  await expect.poll(() => server.metric("vaultsync_vault_waiting_lists")).toBe(50);
  const beyond = await Promise.race(waiting);
  expect(beyond.status).toBe(304);
  expect(beyond.headers["preference-applied"]).toBeUndefined();
  const tag = (await owner.call("list_no_dup")).headers.etag;
  const own = owner.call("list_no_dup", {}, { "if-none-match": tag, prefer: "wait=50" });
  await expect.poll(() => server.metric("vaultsync_vault_waiting_lists")).toBe(51);
  await owner.call("protect", { key_name: "a", key_value: "v" });
  expect((await own).status).toBe(200);
  expect((await own).headers["preference-applied"]).toBe("wait");
  await Promise.all(waiting);
});

test("the tokens of one login leave half of the request rate of an account to others", async () => {
  const { server, owner, narrow } = await start({ requestsPerSecond: 1, requestBurst: 40 });
  await using _vault = server;
  const outcomes: string[] = [];
  for (let round = 0; round < 40; round += 1) {
    for (const token of narrow) outcomes.push((await token.call("list_file")).outcome());
  }
  const served = outcomes.filter((outcome) => outcome === "200").length;
  expect(served <= 80).toBe(true);
  expect(served > 40).toBe(true);
  for (let request = 0; request < 30; request += 1)
    expect((await owner.call("list_file")).outcome()).toBe("200");
});

test("a request that counts as many does not take the half that is left to others", async () => {
  const { server, owner, narrow } = await start({ requestsPerSecond: 1, requestBurst: 40 });
  await using _vault = server;
  const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
  for (const token of narrow) await token.call("delete", { key_name: names });
  for (let request = 0; request < 30; request += 1)
    expect((await owner.call("list_file")).outcome()).toBe("200");
});
