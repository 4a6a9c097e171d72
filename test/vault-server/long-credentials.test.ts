import { expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString } from "../lab/vault/vault-client.ts";

const email = "ann@example.com";
/** Logins with scopes of 8 KiB: a list of 800 KB. */
const LOGINS = 100;

test("a long list of tokens is read in parts, newest first, and counts by its length", async () => {
  const clock = new VirtualClock();
  const limits = { requestsPerSecond: 1, requestBurst: 40 };
  await using vault = await TestVault.start({ clock, limits });
  const scope = scopeString({ secret_name: Array<string>(180).fill("x".repeat(30)) });
  const ann = await vault.client(email, undefined, 1_000);
  for (let login = 0; login < LOGINS; login += 1) {
    await clock.advance(1);
    expect((await vault.logIn(email, { scope, hours: 100 + login })).outcome()).toBe("200");
  }
  const list = async () => (await ann.call("token_list")).json().tokens;
  const listed = await list();
  expect(listed).toHaveLength(LOGINS + 1);
  expect(listed.at(-1)).toMatchObject({ current: true });
  const ended = listed.map(({ expires_at }: { expires_at: string }) => expires_at).slice(0, LOGINS);
  expect(ended).toEqual(ended.toSorted().toReversed());
  expect(listed[0].scope).toBe(scope);

  const ids = listed.map(({ id }: { id: string }) => id);
  const unknown = "0".repeat(24);
  expect((await ann.call("token_revoke", { id: [ids[0], unknown] })).outcome()).toBe(
    "404 token_not_found",
  );
  expect((await ann.call("token_revoke", { id: [ids[0], ids[70], ids[0]] })).json()).toEqual({
    revoked: [ids[0], ids[70]],
  });
  const left = (await list()).map(({ id }: { id: string }) => id);
  expect(left).toEqual(ids.filter((id: string) => id !== ids[0] && id !== ids[70]));

  await clock.advance(100_000);
  // Each list counts as four requests.
  for (let lists = 10; lists > 0; lists -= 1)
    expect((await ann.call("token_list")).outcome()).toBe("200");
  expect((await ann.call("token_list")).outcome()).toBe("429 rate_limited");
});
