import { expect, test } from "vitest";
import type { Limits } from "../../src/vault/server/limits.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, VaultClient } from "../lab/vault/vault-client.ts";

const email = "ann@example.com";
const NARROW = scopeString({ secret_name: ["nothing"] });
/** Access tokens of the narrow login, from refreshes. */
const TOKENS = 8;

async function start(
  limits: Partial<Limits>,
): Promise<{ vault: TestVault; owner: VaultClient; narrow: VaultClient[] }> {
  const vault = await TestVault.start({ clock: new VirtualClock(), limits });
  const owner = await vault.client(email);
  const { access_token: used_access_token, refresh_token } = (
    await vault.logIn(email, { scope: NARROW })
  ).json();
  const narrow = [new VaultClient(vault.url, email, { token: used_access_token })];
  while (narrow.length < TOKENS) {
    const refreshed = await narrow[0]!.post("/v1/user/refresh_token", {
      refresh_token,
      used_access_token,
    });
    narrow.push(new VaultClient(vault.url, email, { token: refreshed.json().access_token }));
  }
  return { vault, owner, narrow };
}

test("the tokens of one login take a quarter of the waits of an account", async () => {
  const { vault, owner, narrow } = await start({ waitingListsPerAccount: 200 });
  await using _vault = vault;
  const etag = (await narrow[0]!.call("list_no_dup")).headers.etag;
  const waiting = narrow.flatMap((token) =>
    Array.from({ length: 10 }, () =>
      token.call("list_no_dup", {}, { "if-none-match": etag, prefer: "wait=50" }),
    ),
  );
  await expect.poll(() => vault.metric("vaultsync_vault_waiting_lists")).toBe(50);
  const beyond = await Promise.race(waiting);
  expect(beyond.status).toBe(304);
  expect(beyond.headers["preference-applied"]).toBeUndefined();
  const tag = (await owner.call("list_no_dup")).headers.etag;
  const own = owner.call("list_no_dup", {}, { "if-none-match": tag, prefer: "wait=50" });
  await expect.poll(() => vault.metric("vaultsync_vault_waiting_lists")).toBe(51);
  await owner.call("protect", { key_name: "a", key_value: "v" });
  expect((await own).status).toBe(200);
  expect((await own).headers["preference-applied"]).toBe("wait");
  await Promise.all(waiting);
});

test("the tokens of one login leave half of the request rate of an account to others", async () => {
  const { vault, owner, narrow } = await start({ requestsPerSecond: 1, requestBurst: 40 });
  await using _vault = vault;
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
  const { vault, owner, narrow } = await start({ requestsPerSecond: 1, requestBurst: 40 });
  await using _vault = vault;
  const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
  for (const token of narrow) await token.call("delete", { key_name: names });
  for (let request = 0; request < 30; request += 1)
    expect((await owner.call("list_file")).outcome()).toBe("200");
});
