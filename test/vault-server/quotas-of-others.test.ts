import { beforeEach, expect, test } from "vitest";
import { defaultQuotas, type Quotas } from "../../src/vault/server/limits.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

/** Changed by each test: the limits of the server refer to it. */
const quotas: { -readonly [Name in keyof Quotas]: number } = { ...defaultQuotas };
const { ann, bob } = await useVault({ limits: { quotas } });
const exceeded = "403 quota_exceeded";

beforeEach(async () => {
  Object.assign(quotas, defaultQuotas);
  const { secrets } = (await ann.call("list_no_dup")).json();
  for (const { key_name } of secrets) await ann.call("delete", { key_name });
});

const protect = async (key_name: string, key_value = "v", caller: VaultClient = ann) =>
  (await caller.call("protect", { key_name, key_value })).outcome();
const write = async (key_name: string, key_value: string) =>
  (await bob.call("protect_link", { key_name, key_value })).outcome();
const share = async (key_name: string | string[], to: string | string[] = bob.email) =>
  (
    await ann.call("share", { key_name, usr_id_from: ann.email, usr_id_to: to, permission: "RW" })
  ).outcome();

const to = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `to-${from + index}@example.com`);

// First: what the sweeper has not erased yet of the secrets of other tests counts.
test("grants of a secret and of an account are limited, and count until they are taken back", async () => {
  for (const name of ["a", "b"]) await protect(name);
  quotas.secret_grants = 3;
  expect(await share("a", to(4))).toEqual(exceeded);
  expect(await share("a", to(3))).toBe("200");
  expect(await share("a", to(1, 3))).toEqual(exceeded);
  expect(await share("a", to(3))).toBe("200");
  quotas.grants = 5;
  await ann.call("team_create", { group_id: "granted", members: [bob.email] });
  expect(await share("b", to(3))).toEqual(exceeded);
  expect(await share("b", to(1))).toBe("200");
  const withTeam = {
    key_name: "b",
    usr_id_from: ann.email,
    group_id_to: "granted",
    permission: "R",
  };
  expect((await ann.call("share", withTeam)).outcome()).toBe("200");
  expect(await share("b", to(1, 5))).toEqual(exceeded);
  await ann.call("team_delete", { group_id: "granted" });
  expect(await share("b", to(1, 5))).toBe("200");
  await ann.call("unshare", { key_name: "b" });
  await ann.call("delete", { key_name: "a" });
  await protect("a");
  expect(await share("a", to(3))).toBe("200");
  expect(await share("b", to(2))).toBe("200");
  expect(await share("b", to(1, 9))).toEqual(exceeded);
});

test.each<Partial<Quotas>>([{ bytes: 100_000 }, { versions: 50 }, { secret_versions: 20 }])(
  "a recipient who writes leaves a tenth of %o to the creator",
  async (quota) => {
    for (const name of ["own", "shared"]) await protect(name);
    await share("shared");
    Object.assign(quotas, quota);
    let outcome = "200";
    while (outcome === "200") outcome = await write("shared", "x".repeat(4_000));
    expect(outcome).toBe(exceeded);
    const grown = { key_name: "shared", key_version: 1, metadata: { note: "x".repeat(9_000) } };
    const growing = (await bob.call("update_key_metadata", grown)).outcome();
    expect(growing).toBe(quota.bytes === undefined ? "200" : exceeded);
    const shared = await ann.call("protect_link", { key_name: "shared", key_value: "v" });
    expect(await protect("own")).toBe("200");
    expect(shared.outcome()).toBe("200");
  },
);

test("the blocked senders of a user are limited", async () => {
  quotas.blocked_senders = 2;
  const block = async (...senders: string[]) =>
    (await bob.call("block_sender", { usr_id_from: senders })).outcome();
  expect(await block("x@example.com", "y@example.com")).toBe("200");
  expect(await block("z@example.com")).toEqual(exceeded);
  expect(await block("x@example.com")).toBe("200");
  expect((await bob.call("blocked_senders")).json().blocked.length).toBe(2);
});

test("keepVersions removes the oldest versions of a secret as others are added", async () => {
  await using other = await TestVault.start({
    keepVersions: 3,
    limits: { quotas: { ...defaultQuotas, secret_versions: 4 } },
  });
  const caller = await other.client(ann.email);
  for (let version = 1; version <= 8; version += 1)
    expect(await protect("rotated", `v${version}`, caller)).toBe("200");
  const { versions } = (await caller.call("version_list", { key_name: "rotated" })).json();
  expect(versions.map(({ key_version }: { key_version: number }) => key_version)).toEqual([
    6, 7, 8,
  ]);
  expect((await caller.call("expose", { key_name: "rotated" })).json().key_value).toBe("v8");
});

test("the default quota of bytes is below a third of the volume that deploy/ has", () => {
  expect(defaultQuotas.bytes).toBe(1024 ** 3);
  expect(defaultQuotas.grants).toBe(10_000);
  expect(defaultQuotas.secret_grants).toBe(1_000);
});
