import { describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import {
  listNames,
  protectSecret,
  readValue,
  unsharedReads,
  nameSequence,
} from "../lab/vault/requests.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString } from "../lab/vault/vault-client.ts";
import { useVault } from "../lab/vault/use-vault.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

const clock = new VirtualClock();
const freshName = nameSequence("secret");
const { ann } = await useVault({ clock });

describe("deadlines and expiry", () => {
  test("at delete_time the secret disappears for all operations; its name restarts at version 1", async () => {
    const name = freshName();
    await protectSecret(ann, { key_name: name, key_value: "1", delete_time: "2" });
    await protectSecret(ann, { key_name: name, key_value: "2" });
    clock.stepWall(2 * MINUTE - 1);
    expect(await readValue(ann, name)).toBe("2");
    expect(await listNames(ann)).toEqual(expect.arrayContaining([name]));
    clock.stepWall(1);
    expect(await listNames(ann)).not.toContain(name);
    for (const [operation, body] of unsharedReads) {
      expect((await ann.call(operation, { key_name: name, ...body })).code()).toBe(
        "secret_not_found",
      );
    }
    const again = await protectSecret(ann, { key_name: name, key_value: "new" });
    expect(again.key_version).toBe(1);
    expect(again.delete_time).toBe(525_600_000);
    expect((await ann.call("version_list", { key_name: name })).json().versions).toHaveLength(1);
  });

  test("delete_time counts from the request that set it; protect without it keeps the deadline", async () => {
    const name = freshName();
    const first = await protectSecret(ann, { key_name: name, key_value: "1", delete_time: 10 });
    clock.stepWall(MINUTE);
    const kept = await protectSecret(ann, { key_name: name, key_value: "2", delete_time: null });
    expect(kept.delete_time).toBe(10);
    expect(kept.delete_at).toEqual(first.delete_at);
    const moved = await protectSecret(ann, { key_name: name, key_value: "3", delete_time: "20" });
    expect(moved.delete_time).toBe(20);
    expect(moved.delete_at).toEqual(new Date(clock.now() + 20 * MINUTE).toISOString());
  });

  test("a deadline beyond JavaScript's dates is a number of milliseconds", async () => {
    const record = await protectSecret(ann, {
      key_name: freshName(),
      key_value: "v",
      delete_time: 10 ** 12,
      expiration_time: 10 ** 9,
    });
    expect(record.delete_at).toBe(clock.now() + 6e16);
    expect(record.expires_at).toBe(clock.now() + 8.64e16);
  });

  test("an expired version is listed and, by default, served", async () => {
    const name = freshName();
    await protectSecret(ann, { key_name: name, key_value: "v", expiration_time: 1 });
    const isExpired = async () => [
      (await ann.call("list_no_dup"))
        .json()
        .secrets.find((secret: { key_name: string }) => secret.key_name === name).expired,
      (await ann.call("expose", { key_name: name })).json().expired,
    ];
    clock.stepWall(DAY - 1);
    expect(await isExpired()).toEqual([false, false]);
    clock.stepWall(1);
    expect(await isExpired()).toEqual([true, true]);
    await protectSecret(ann, { key_name: name, key_value: "w" });
    expect(await isExpired()).toEqual([false, false]);
    expect(
      (await ann.call("version_expose", { key_name: name, key_version: 1 })).json().expired,
    ).toBe(true);
  });

  test("with --expired deny, expired versions are listed but secret_expired when read", async () => {
    const denyClock = new VirtualClock();
    await using deny = await TestVault.start({ expired: "deny", clock: denyClock });
    const caller = await deny.client("ann@example.com", scopeString(), 1000);
    await protectSecret(caller, { key_name: "x", key_value: "1", expiration_time: 0 });
    const refused = await caller.call("expose", { key_name: "x" });
    expect(refused.status).toBe(403);
    expect(refused.code()).toBe("secret_expired");
    await protectSecret(caller, { key_name: "x", key_value: "2", expiration_time: 1 });
    expect(await readValue(caller, "x")).toBe("2");
    expect((await caller.call("version_expose", { key_name: "x", key_version: 1 })).code()).toBe(
      "secret_expired",
    );
    expect(await listNames(caller)).toEqual(["x"]);
    const narrow = await deny.client("ann@example.com", scopeString({ secret_name: ["other"] }));
    expect((await narrow.call("version_expose", { key_name: "x", key_version: 1 })).code()).toBe(
      "out_of_scope",
    );
  });
});
