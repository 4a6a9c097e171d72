import { expect, test } from "vitest";
import { VirtualClock } from "../support/clock/virtual-clock.ts";
import { TestVault } from "../support/vault/test-vault.ts";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";

const limits = { loginFailuresPerAddress: 3 };

/** Fails log-ins of accounts that were never tried before, so that only the address can be slowed. */
async function outcomes(vault: TestVault, forwarded: readonly (string | undefined)[]): Promise<string[]> {
  const answers: string[] = [];
  for (const address of forwarded) {
    const body = { email: `user${Math.random()}@example.com`, password: "wrong" };
    const headers = address === undefined ? {} : { "x-forwarded-for": address };
    answers.push((await vault.post(sessionOperationPath.app_log_in, body, headers)).outcome());
  }
  return answers;
}

const FAILED = "401 invalid_credentials";
const SLOWED = "429 rate_limited";

test("nobody's x-forwarded-for counts by default", async () => {
  await using vault = await TestVault.start({ clock: new VirtualClock(), limits });
  const claimed = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
  expect(await outcomes(vault, claimed)).toEqual([FAILED, FAILED, FAILED, SLOWED]);
});

test.each([["127.0.0.1"], ["127.0.0.0/8"], ["10.0.0.0/8", "127.0.0.0/8"]])(
  "behind the proxy %s an address is slowed alone",
  async (...trustedProxies) => {
    await using vault = await TestVault.start({ clock: new VirtualClock(), limits, trustedProxies });
    const one = "192.0.2.1";
    expect(await outcomes(vault, [one, one, one, one])).toEqual([FAILED, FAILED, FAILED, SLOWED]);
    expect(await outcomes(vault, ["192.0.2.2", undefined])).toEqual([FAILED, FAILED]);
  },
);

test("what a client claims before the proxy adds to it does not count", async () => {
  await using vault = await TestVault.start({ clock: new VirtualClock(), limits, trustedProxies: ["127.0.0.1"] });
  const claimed = [1, 2, 3, 4].map((last) => `198.51.100.${last}, 192.0.2.1`);
  expect(await outcomes(vault, claimed)).toEqual([FAILED, FAILED, FAILED, SLOWED]);
});

test("a proxy that is not the one trusted is a client like any other", async () => {
  await using vault = await TestVault.start({ clock: new VirtualClock(), limits, trustedProxies: ["10.0.0.0/8"] });
  const claimed = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
  expect(await outcomes(vault, claimed)).toEqual([FAILED, FAILED, FAILED, SLOWED]);
});
