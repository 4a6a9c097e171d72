import { expect, test } from "vitest";
import { mannWhitneyZ } from "../lab/assertions/mann-whitney.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, type VaultResponse } from "../lab/vault/vault-client.ts";
import { sessionOperationPath, operationPath } from "../../src/protocol/operation-paths.ts";
import { defaultPasswordCost, type PasswordCost } from "../../src/vault/server/limits.ts";

const known = ["ann@example.com", "bob@example.com", "cid@example.com", "dan@example.com"];
const unknown = ["eve@example.com", "fay@example.com", "gus@example.com", "hal@example.com"];
/**
 * Exceeded by chance in 1 of 37,000 runs; with three comparisons, false alarms are rarer than 1 in
 * 10,000.
 */
const SIGNIFICANT_Z = 4.2;
const unlimited = {
  loginFailuresPerAccount: 1e6,
  loginFailuresPerNetwork: 1e6,
  emailIntervalMs: 0,
  emailsPerAddress: 1e6,
};

type Ask = (vault: TestVault, email: string) => Promise<VaultResponse>;

const asked: Record<string, Ask> = {
  generate_access_token: (vault, email) =>
    vault.post(operationPath.generate_access_token, {
      email,
      password: "wrong",
      scope: scopeString(),
      expiration_hours: 1,
    }),
  app_log_in: (vault, email) =>
    vault.post(sessionOperationPath.app_log_in, { email, password: "wrong" }),
  app_request_password: (vault, email) =>
    vault.post(sessionOperationPath.app_request_password, { email }),
};

/** Returns a response without the parts that differ every time. */
function stableParts({ status, headers, bytes }: VaultResponse) {
  const { "x-request-id": _id, date: _date, ...others } = headers;
  return { status, headers: others, body: bytes.toString() };
}

/** Compares response times for known and unknown addresses, requested alternately. */
async function compare(ask: Ask, rounds: number, passwordCost: PasswordCost) {
  await using vault = await TestVault.start({ emails: known, limits: unlimited, passwordCost });
  const times: Record<"known" | "unknown", number[]> = { known: [], unknown: [] };
  const one = async (kind: "known" | "unknown", round: number): Promise<VaultResponse> => {
    const email = (kind === "known" ? known : unknown)[round % known.length]!;
    const start = performance.now();
    const response = await ask(vault, email);
    times[kind].push(performance.now() - start);
    return response;
  };
  for (let round = 0; round < known.length; round += 1)
    await ask(vault, known[round]!).then(() => ask(vault, unknown[round]!));
  for (let round = 0; round < rounds; round += 1) {
    const order =
      round % 2 === 0 ? (["known", "unknown"] as const) : (["unknown", "known"] as const);
    const responses = [await one(order[0], round), await one(order[1], round)];
    expect(stableParts(responses[1]!)).toEqual(stableParts(responses[0]!));
  }
  return mannWhitneyZ(times.known, times.unknown);
}

test.each([
  ["generate_access_token", 20, defaultPasswordCost],
  ["app_log_in", 60, { memoryKib: 2048, passes: 1, lanes: 1 }],
  ["app_request_password", 60, { memoryKib: 2048, passes: 1, lanes: 1 }],
] as const)(
  "%s responds equally, and equally fast, to addresses with and without an account",
  async (operation, rounds, cost) => {
    expect(Math.abs(await compare(asked[operation]!, rounds, cost))).toBeLessThan(SIGNIFICANT_Z);
  },
);

test.each(["generate_access_token", "app_log_in"])(
  "%s is throttled equally for addresses with and without an account",
  async (operation) => {
    const failing = async (email: string) => {
      await using vault = await TestVault.start({ emails: known, clock: new VirtualClock() });
      const responses = [];
      for (let attempt = 0; attempt < 8; attempt += 1)
        responses.push(stableParts(await asked[operation]!(vault, email)));
      for (const other of [
        "one@example.com",
        "two@example.com",
        "three@example.com",
        "four@example.com",
      ]) {
        for (let attempt = 0; attempt < 4; attempt += 1)
          responses.push(stableParts(await asked[operation]!(vault, other)));
      }
      responses.push(stableParts(await asked[operation]!(vault, email)));
      return responses;
    };
    const [withAccount, without] = [
      await failing("ann@example.com"),
      await failing("eve@example.com"),
    ];
    expect(without).toEqual(withAccount);
    expect(new Set(withAccount.map((response) => response.status))).toEqual(new Set([401, 429]));
    expect(
      withAccount
        .filter((response) => response.status === 429)
        .every((response) => response.headers["retry-after"] !== undefined),
    ).toBe(true);
  },
);
