import { describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { scopeString, VaultClient } from "../lab/vault/vault-client.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const clock = new VirtualClock();
const { vault } = await useVault({ clock });

const refresh = (refreshToken: string, usedAccessToken: string) =>
  vault.post(operationPath.refresh_token, {
    refresh_token: refreshToken,
    used_access_token: usedAccessToken,
  });
const isAccepted = async (token: string): Promise<boolean> => {
  const response = await new VaultClient(vault.url, "ann@example.com", { token }).call(
    "list_no_dup",
  );
  if (response.status !== 200) expect(response.code()).toBe("invalid_token");
  return response.status === 200;
};

const padded = (bytes: number) => {
  const scope = scopeString({ secret_name: ["\u00e9"] });
  return scope.replace("\u00e9", `\u00e9${"x".repeat(bytes - Buffer.byteLength(scope))}`);
};
const pairs = (count: number) =>
  scopeString({ secret_name: Array.from({ length: count - 4 }, (_, index) => `s${index}`) });

describe("access and refresh tokens", () => {
  test("a login returns the complete token response", async () => {
    const scope = scopeString({ cloud_type: ["all"], classification: ["top", "low"] });
    const response = await vault.logIn("ann@example.com", { scope, hours: 3 });
    expect(response.status).toBe(200);
    expect(response.headers["cache-control"]).toBe("no-store");
    expect(response.json()).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/u),
      expires_in: 10_800,
      id_token: expect.any(String),
      refresh_token: expect.stringMatching(/^[\w-]{43}$/u),
      scope,
      token_type: "access",
    });
  });

  test("the email of a login is case-insensitive", async () => {
    const response = await vault.logIn("ANN@EXAMPLE.COM", {
      password: vault.passwords.get("ann@example.com") ?? "",
    });
    expect(response.status).toBe(200);
    expect(await isAccepted(response.json().access_token)).toBe(true);
  });

  test("a wrong password and an unknown email get the same response", async () => {
    const responses = [
      await vault.logIn("bob@example.com", { password: "wrong" }),
      await vault.logIn("nobody@example.com", { password: "wrong" }),
    ];
    for (const response of responses)
      expect([response.status, response.code()]).toEqual([401, "invalid_credentials"]);
    expect(responses[0]?.bytes).toEqual(responses[1]?.bytes);
  });

  test("a token works until its last second", async () => {
    const { access_token: token } = (await vault.logIn("ann@example.com", { hours: 2 })).json();
    clock.stepWall(2 * HOUR - 1);
    expect(await isAccepted(token)).toBe(true);
    clock.stepWall(1);
    expect(await isAccepted(token)).toBe(false);
  });

  test.each([1e10, 2 ** 53, 1e20])(
    "expiration_hours of %d has an exact lifetime",
    async (hours) => {
      const response = await vault.logIn("ann@example.com", { hours });
      expect(response.status).toBe(200);
      expect(response.json().expires_in).toEqual(hours * 3600);
      expect(await isAccepted(response.json().access_token)).toBe(true);
    },
  );

  test.each([0, -1, 1.5, "24", null, 1e308])(
    "expiration_hours of %j is rejected",
    async (hours) => {
      const response = await vault.logIn("ann@example.com", { hours });
      expect(response.status).toBe(400);
      expect(response.code()).toBe("invalid_request");
      expect(response.json().error.details).toEqual([
        { path: "expiration_hours", reason: expect.any(String) },
      ]);
    },
  );

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
  ])("the scope %j is rejected", async (scope) => {
    const response = await vault.logIn("ann@example.com", { scope });
    expect(response.status).toBe(400);
    expect(response.code()).toBe("invalid_scope");
  });

  test("a scope has at most 8 KiB of UTF-8 and 200 pairs", async () => {
    for (const scope of [padded(8192), pairs(200)])
      expect((await vault.logIn("ann@example.com", { scope })).outcome()).toBe("200");
    for (const scope of [padded(8193), pairs(201)]) {
      expect((await vault.logIn("ann@example.com", { scope })).outcome()).toBe(
        "400 invalid_request",
      );
    }
  });

  test("a refresh returns a token of the same scope and lifetime and revokes nothing", async () => {
    const first = (
      await vault.logIn("ann@example.com", {
        hours: 5,
        scope: scopeString({ secret_name: ["one"] }),
      })
    ).json();
    const second = (await refresh(first.refresh_token, first.access_token)).json();
    expect(second).toMatchObject({
      refresh_token: first.refresh_token,
      expires_in: 5 * 3600,
      scope: first.scope,
      token_type: "access",
    });
    expect(second.access_token).not.toBe(first.access_token);
    expect(await isAccepted(first.access_token)).toBe(true);
    expect(await isAccepted(second.access_token)).toBe(true);
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

  test("an unknown refresh token, or one of another pair, is rejected", async () => {
    const [one, other] = [
      (await vault.logIn("ann@example.com")).json(),
      (await vault.logIn("ann@example.com")).json(),
    ];
    for (const [refreshToken, accessToken] of [
      [one.refresh_token, other.access_token],
      [one.refresh_token, "unknown"],
      ["unknown", one.access_token],
      [one.access_token, one.refresh_token],
    ]) {
      const response = await refresh(refreshToken, accessToken);
      expect(response.status).toBe(401);
      expect(response.code()).toBe("invalid_refresh_token");
    }
  });

  test("a refresh token expires 90 days after its last use", async () => {
    const pair = (await vault.logIn("ann@example.com")).json();
    for (let round = 0; round < 3; round += 1) {
      clock.stepWall(90 * DAY - 1);
      expect((await refresh(pair.refresh_token, pair.access_token)).status).toBe(200);
    }
    clock.stepWall(90 * DAY);
    const lapsed = await refresh(pair.refresh_token, pair.access_token);
    expect(lapsed.status).toBe(401);
    expect(lapsed.code()).toBe("invalid_refresh_token");
  });
});

test("the lifetime of an access token is limited by maxTokenHours", async () => {
  await using other = await TestVault.start({ maxTokenHours: 48 });
  expect((await other.logIn("ann@example.com", { hours: 48 })).json().expires_in).toBe(48 * 3600);
  const longer = await other.logIn("ann@example.com", { hours: 49 });
  expect(longer.json().error.details).toEqual([
    { path: "expiration_hours", reason: "must be at most 48" },
  ]);
});
