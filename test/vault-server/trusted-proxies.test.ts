import type { OutgoingHttpHeaders } from "node:http";
import { expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { lineLogger } from "../lab/assertions/recording-logger.ts";
import { scopeString, sendRequest } from "../lab/vault/vault-client.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { operationPath, sessionOperationPath } from "../../src/protocol/operation-paths.ts";

const limits = { loginFailuresPerNetwork: 3 };

/** Fails logins of new accounts: only the IP address can be throttled. */
async function outcomes(
  vault: TestVault,
  forwarded: readonly (string | undefined)[],
): Promise<string[]> {
  const responses: string[] = [];
  for (const address of forwarded) {
    const body = { email: `user${Math.random()}@example.com`, password: "wrong" };
    const headers = address === undefined ? {} : { "x-forwarded-for": address };
    responses.push((await vault.post(sessionOperationPath.app_log_in, body, headers)).outcome());
  }
  return responses;
}

const FAILED = "401 invalid_credentials";
const SLOWED = "429 rate_limited";

test("x-forwarded-for is ignored by default", async () => {
  await using vault = await TestVault.start({ clock: new VirtualClock(), limits });
  const claimed = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
  expect(await outcomes(vault, claimed)).toEqual([FAILED, FAILED, FAILED, SLOWED]);
});

test.each([["127.0.0.1"], ["127.0.0.0/8"], ["10.0.0.0/8", "127.0.0.0/8"]])(
  "clients behind the trusted proxy %s are throttled one by one",
  async (...trustedProxies) => {
    await using vault = await TestVault.start({
      clock: new VirtualClock(),
      limits,
      trustedProxies,
    });
    const one = "192.0.2.1";
    expect(await outcomes(vault, [one, one, one, one])).toEqual([FAILED, FAILED, FAILED, SLOWED]);
    expect(await outcomes(vault, ["192.0.2.2", undefined])).toEqual([FAILED, FAILED]);
  },
);

test("an address claimed by the client itself is ignored", async () => {
  await using vault = await TestVault.start({
    clock: new VirtualClock(),
    limits,
    trustedProxies: ["127.0.0.1"],
  });
  const claimed = [1, 2, 3, 4].map((last) => `198.51.100.${last}, 192.0.2.1`);
  expect(await outcomes(vault, claimed)).toEqual([FAILED, FAILED, FAILED, SLOWED]);
});

test("an untrusted proxy is treated as a client", async () => {
  await using vault = await TestVault.start({
    clock: new VirtualClock(),
    limits,
    trustedProxies: ["10.0.0.0/8"],
  });
  const claimed = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
  expect(await outcomes(vault, claimed)).toEqual([FAILED, FAILED, FAILED, SLOWED]);
});

test.each([
  ["no proxy is trusted", {}, 1, 4],
  ["another proxy is trusted", { trustedProxies: ["10.0.0.0/8"] }, 1, 4],
  ["the proxy is trusted", { trustedProxies: ["127.0.0.1"] }, 0, 0],
])(
  "ignored addresses are reported once and counted if %s",
  async (_, options, reported, counted) => {
    const lines: string[] = [];
    const logger = lineLogger((line) => void (line.includes("--trust-proxy") && lines.push(line)));
    await using vault = await TestVault.start({
      clock: new VirtualClock(),
      limits,
      logger,
      ...options,
    });
    await outcomes(vault, [undefined, "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]);
    const metrics = (
      await sendRequest(`${vault.metricsUrl}/metrics`, { method: "GET" })
    ).bytes.toString();
    expect(lines).toHaveLength(reported);
    expect(metrics).toContain(`\nvaultsync_vault_untrusted_forwarded_requests_total ${counted}\n`);
  },
);

test("an ignored address is named in responses to authenticated requests only", async () => {
  await using vault = await TestVault.start();
  const forwarded = { "x-forwarded-for": "192.0.2.1" };
  const headerOf = async (
    path: string,
    headers: OutgoingHttpHeaders,
    password = vault.passwords.get("ann@example.com"),
  ) => {
    const body = { email: "ann@example.com", password, scope: scopeString(), expiration_hours: 1 };
    return (await vault.post(path, body, headers)).headers["x-ignored-forwarded"];
  };
  const { generate_access_token: logIn, list_file: list } = operationPath;
  const authorization = (await vault.client("ann@example.com")).token;
  expect(await headerOf(logIn, forwarded)).toBe("true");
  expect(await headerOf(list, { ...forwarded, authorization })).toBe("true");
  expect(await headerOf(logIn, forwarded, "wrong")).toBeUndefined();
  expect(await headerOf(list, forwarded)).toBeUndefined();
  expect(await headerOf(logIn, {})).toBeUndefined();
  expect(await headerOf(list, { authorization })).toBeUndefined();
});
