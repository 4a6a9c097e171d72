import { beforeEach, describe, expect, test } from "vitest";
import { defaultQuotas, type Quotas } from "../../src/vault/server/limits.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

/** Changed by each test: the limits of the server refer to it. */
const quotas: { -readonly [Name in keyof Quotas]: number } = { ...defaultQuotas };
const more = Array.from({ length: 20 }, (_, index) => `recipient-${index}@example.com`);
const { vault, ann, bob, cid } = await useVault({ limits: { quotas }, more });
const exceeded = "403 quota_exceeded";
/** Another one for each test. */
let recipient: VaultClient;
let fresh = 0;

beforeEach(async () => {
  Object.assign(quotas, { ...defaultQuotas, unaccepted_secrets: 3 });
  recipient = await vault.client(more[(fresh += 1) - 1]!);
});

const protect = async (
  sender: VaultClient,
  names: readonly string[],
  metadata: object = {},
): Promise<string[]> => {
  const own = names.map((name) => `${name}-${fresh}`);
  for (const key_name of own) await sender.call("protect", { key_name, key_value: "v", metadata });
  return own;
};
const share = async (
  sender: VaultClient,
  key_name: readonly string[],
  to: object = { usr_id_to: recipient.email },
) =>
  (
    await sender.call("share", { key_name, permission: "RW", usr_id_from: sender.email, ...to })
  ).outcome();
const team = async (creator: VaultClient, name: string, members: readonly VaultClient[]) =>
  (
    await creator.call("team_create", {
      group_id: `${name}-${fresh}`,
      members: members.map(({ email }) => email),
    })
  ).outcome();
const update = async (caller: VaultClient, key_name: string, length: number, character = "x") =>
  (
    await caller.call("update_key_metadata", {
      key_name,
      key_version: 1,
      metadata: { note: character.repeat(length) },
    })
  ).outcome();
const received = async (): Promise<number> =>
  (await recipient.call("list_no_dup")).json().secrets.length;

describe("a sender whom the recipient has not accepted", () => {
  test("shares a few secrets, which appear without action, and no more", async () => {
    const names = await protect(ann, ["a", "b", "c", "d"]);
    expect(await share(ann, names)).toBe(exceeded);
    expect(await share(ann, names.slice(0, 3))).toBe("200");
    expect(await received()).toBe(3);
    expect(await share(ann, names.slice(3))).toEqual(exceeded);
    expect(await share(ann, names.slice(0, 3))).toBe("200");
    expect(await received()).toBe(3);
    await ann.call("unshare", { key_name: names[0] });
    expect(await share(ann, names.slice(3))).toBe("200");
    expect(await received()).toBe(3);
    const [bobs] = await protect(bob, ["b"]);
    expect(await share(bob, [bobs!])).toBe("200");
    expect(await received()).toBe(4);
  });

  test("shares metadata of a limited size, also when it grows later", async () => {
    quotas.unaccepted_bytes = 2_000;
    const [large, small] = await protect(ann, ["large", "small"]);
    await update(ann, large!, 3_000);
    expect(await share(ann, [large!])).toEqual(exceeded);
    expect(await share(ann, [small!])).toBe("200");
    expect(await update(ann, small!, 3_000)).toEqual(exceeded);
    expect(await update(recipient, small!, 3_000)).toEqual(exceeded);
    expect(await update(ann, small!, 100)).toBe("200");
    expect(await update(ann, small!, 1_000)).toBe("200");
    expect(await update(ann, small!, 1_000, "€")).toEqual(exceeded);
    expect(await update(ann, small!, 100)).toBe("200");
    await ann.call("protect_link", { key_name: small, key_value: "2" });
    expect(await update(ann, small!, 3_000)).toBe("200");
    expect((await ann.call("version_delete", { key_name: small, key_version: 2 })).outcome()).toBe(
      exceeded,
    );
  });

  test("shares a limited size with others of that kind whom the recipient does not block", async () => {
    quotas.unaccepted_total = 2_000;
    const [anns] = await protect(ann, ["large"], { note: "x".repeat(1_500) });
    const [bobs] = await protect(bob, ["large"], { note: "x".repeat(1_500) });
    expect(await share(ann, [anns!])).toBe("200");
    expect(await share(bob, [bobs!])).toEqual(exceeded);
    await recipient.call("block_sender", { usr_id_from: ann.email });
    expect(await share(bob, [bobs!])).toBe("200");
    expect(await received()).toBe(1);
  });

  test("cannot pass the limits with teams of their own, or with another account's team", async () => {
    const names = await protect(ann, ["a", "b", "c", "d"]);
    await team(ann, "own", [recipient]);
    await team(bob, "other", [ann, recipient]);
    expect(await share(ann, names.slice(0, 2), { group_id_to: `own-${fresh}` })).toBe("200");
    expect(await share(ann, names.slice(2), { group_id_to: `other-${fresh}` })).toBe(exceeded);
    await team(ann, "empty", []);
    expect(await share(ann, names, { group_id_to: `empty-${fresh}` })).toBe("200");
    const add = await ann.call("team_add_members", {
      group_id: `empty-${fresh}`,
      members: [recipient.email],
    });
    expect(add.outcome()).toEqual(exceeded);
    expect(await received()).toBe(2);
  });
});

describe("a recipient accepts a sender", () => {
  test.each<[string, () => Promise<unknown>]>([
    [
      "by sharing a secret",
      async () => share(recipient, await protect(recipient, ["own"]), { usr_id_to: ann.email }),
    ],
    ["by adding them to a team", () => team(recipient, "mine", [ann])],
    [
      "by sharing with a team of theirs",
      async () => {
        await team(cid, "common", [ann, recipient]);
        await share(recipient, await protect(recipient, ["own"]), {
          group_id_to: `common-${fresh}`,
        });
      },
    ],
  ])("%s", async (_how, accept) => {
    const names = await protect(ann, ["a", "b", "c", "d"]);
    expect(await share(ann, names)).toBe(exceeded);
    await accept();
    expect(await share(ann, names)).toBe("200");
    expect(
      (await recipient.call("list_no_dup"))
        .json()
        .secrets.filter(({ owner }: { owner: string }) => owner === ann.email),
    ).toHaveLength(4);
  });
});

test("the default bounds are 100 secrets and 256 KiB of a sender, 1 MiB of all", () => {
  const {
    unaccepted_secrets: secrets,
    unaccepted_bytes: bytes,
    unaccepted_total: total,
  } = defaultQuotas;
  expect(secrets).toBe(100);
  expect(bytes).toEqual(256 * 1024);
  expect(total).toEqual(1024 * 1024);
});
