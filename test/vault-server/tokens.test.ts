import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VirtualClock } from "../support/clock/virtual-clock.ts";
import { TestVault } from "../support/vault/test-vault.ts";
import { scopeString, VaultClient } from "../support/vault/vault-client.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe("access and refresh tokens", () => {
  let clock: VirtualClock;
  let vault: TestVault;
  beforeAll(async () => {
    clock = new VirtualClock();
    vault = await TestVault.start({ clock });
  });
  afterAll(() => vault[Symbol.asyncDispose]());

  const refresh = (refreshToken: string, usedAccessToken: string) =>
    vault.post(operationPath.refresh_token, { refresh_token: refreshToken, used_access_token: usedAccessToken });
  const isAccepted = async (token: string): Promise<boolean> => {
    const answer = await new VaultClient(vault.url, "ann@example.com", { token }).call("list_no_dup");
    if (answer.status !== 200) expect(answer.code()).toBe("invalid_token");
    return answer.status === 200;
  };

  test("a log-in answers the whole token response object", async () => {
    const scope = scopeString({ cloud_type: ["all"], classification: ["top", "low"] });
    const answer = await vault.logIn("ann@example.com", { scope, hours: 3 });
    expect([answer.status, answer.headers["cache-control"]]).toEqual([200, "no-store"]);
    expect(answer.json()).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/u),
      expires_in: 10_800,
      id_token: expect.any(String),
      refresh_token: expect.stringMatching(/^[\w-]{43}$/u),
      scope,
      token_type: "access",
    });
  });

  test("the e-mail address of a log-in is compared case-insensitively", async () => {
    const answer = await vault.logIn("ANN@EXAMPLE.COM", { password: vault.passwords.get("ann@example.com") ?? "" });
    expect(answer.status).toBe(200);
    expect(await isAccepted(answer.json().access_token)).toBe(true);
  });

  test("a wrong password and an unknown address get the same answer", async () => {
    const answers = [
      await vault.logIn("bob@example.com", { password: "wrong" }),
      await vault.logIn("nobody@example.com", { password: "wrong" }),
    ];
    for (const answer of answers) expect([answer.status, answer.code()]).toEqual([401, "invalid_credentials"]);
    expect(answers[0]?.bytes).toEqual(answers[1]?.bytes);
  });

  test("a token works until its last second, and no longer", async () => {
    const { access_token: token } = (await vault.logIn("ann@example.com", { hours: 2 })).json();
    clock.stepWall(2 * HOUR - 1);
    expect(await isAccepted(token)).toBe(true);
    clock.stepWall(1);
    expect(await isAccepted(token)).toBe(false);
  });

  test.each([1e10, 2 ** 53, 1e20])("expiration_hours of %d has an exact lifetime", async (hours) => {
    const answer = await vault.logIn("ann@example.com", { hours });
    expect([answer.status, answer.json().expires_in]).toEqual([200, hours * 3600]);
    expect(await isAccepted(answer.json().access_token)).toBe(true);
  });

  test.each([0, -1, 1.5, "24", null, 1e308])("expiration_hours of %j is refused", async (hours) => {
    const answer = await vault.logIn("ann@example.com", { hours });
    expect([answer.status, answer.code()]).toEqual([400, "invalid_request"]);
    expect(answer.json().error.details).toEqual([{ path: "expiration_hours", reason: expect.any(String) }]);
  });

  test.each([
    "",
    "cloud_type:*",
    scopeString().replace("cloud_type:*,", ""),
    scopeString({ cloud_type: [""] }),
    scopeString({ cloud_type: ["a b"] }),
    scopeString({ cloud_type: ["%"] }),
    scopeString({ cloud_type: ["%ff"] }),
    `${scopeString()},`,
    `${scopeString()},colour:blue`,
    scopeString().replace("environment_type", "enviroment_type"),
  ])("the scope %j is refused", async (scope) => {
    const answer = await vault.logIn("ann@example.com", { scope });
    expect([answer.status, answer.code()]).toEqual([400, "invalid_scope"]);
  });

  test("a refresh answers a new token of the same scope and lifetime, keeps the refresh token and revokes nothing", async () => {
    const first = (await vault.logIn("ann@example.com", { hours: 5, scope: scopeString({ secret_name: ["one"] }) })).json();
    const second = (await refresh(first.refresh_token, first.access_token)).json();
    expect(second).toMatchObject({
      refresh_token: first.refresh_token,
      expires_in: 5 * 3600,
      scope: first.scope,
      token_type: "access",
    });
    expect(second.access_token).not.toBe(first.access_token);
    expect([await isAccepted(first.access_token), await isAccepted(second.access_token)]).toEqual([true, true]);
    expect((await refresh(first.refresh_token, second.access_token)).status).toBe(200);
    expect((await refresh(first.refresh_token, first.access_token)).status).toBe(200);
  });

  test("the used access token may be expired", async () => {
    const first = (await vault.logIn("ann@example.com", { hours: 1 })).json();
    clock.stepWall(3 * HOUR);
    const second = await refresh(first.refresh_token, first.access_token);
    expect(second.status).toBe(200);
    expect(await isAccepted(second.json().access_token)).toBe(true);
  });

  test("an unknown refresh token, or one of another pair, is refused", async () => {
    const [one, other] = [(await vault.logIn("ann@example.com")).json(), (await vault.logIn("ann@example.com")).json()];
    for (const [refreshToken, accessToken] of [
      [one.refresh_token, other.access_token],
      [one.refresh_token, "unknown"],
      ["unknown", one.access_token],
      [one.access_token, one.refresh_token],
    ]) {
      const answer = await refresh(refreshToken, accessToken);
      expect([answer.status, answer.code()]).toEqual([401, "invalid_refresh_token"]);
    }
  });

  test("a refresh token lapses after 90 days without use; each use starts them again", async () => {
    const pair = (await vault.logIn("ann@example.com")).json();
    for (let round = 0; round < 3; round += 1) {
      clock.stepWall(90 * DAY - 1);
      expect((await refresh(pair.refresh_token, pair.access_token)).status).toBe(200);
    }
    clock.stepWall(90 * DAY);
    const lapsed = await refresh(pair.refresh_token, pair.access_token);
    expect([lapsed.status, lapsed.code()]).toEqual([401, "invalid_refresh_token"]);
  });
});
