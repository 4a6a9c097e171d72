import { describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import {
  listNames,
  protectSecret,
  readValue,
  unsharedReads,
  nameSequence,
} from "../lab/vault/requests.ts";
import { scopeString } from "../lab/vault/vault-client.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { TestVault } from "../lab/vault/test-vault.ts";

const clock = new VirtualClock();
const freshName = nameSequence("secret");
const { vault, ann, bob } = await useVault({ clock });

const scoped = (narrowed: Record<string, string[]>) =>
  vault.client("ann@example.com", scopeString(narrowed), 1e6);

describe("scopes", () => {
  test("a narrowed token lists and reads exactly the secrets that match all attributes", async () => {
    const tag = freshName();
    const metadata = {
      cloud_type: tag,
      classification: "low",
      application_type: "vm",
      environment_type: "prod",
    };
    await protectSecret(ann, { key_name: tag, key_value: "v", metadata });
    const reached = [
      { cloud_type: [tag] },
      { cloud_type: ["other", tag], classification: ["top", "low"] },
      { secret_name: [tag], application_type: ["vm"], environment_type: ["prod"] },
      { secret_name: ["all"] },
    ];
    for (const narrowed of reached) {
      const caller = await scoped(narrowed);
      expect(await listNames(caller)).toEqual(expect.arrayContaining([tag]));
      expect(await readValue(caller, tag)).toBe("v");
    }
    const missed = [
      { cloud_type: ["other"] },
      { classification: ["top"], cloud_type: [tag] },
      { secret_name: ["other"] },
      { cloud_type: [`${tag}*`] },
    ];
    for (const narrowed of missed) {
      const caller = await scoped(narrowed);
      expect(await listNames(caller)).not.toContain(tag);
      for (const [operation, body] of unsharedReads) {
        const response = await caller.call(operation, { key_name: tag, ...body });
        expect(response.status, operation).toBe(403);
        expect(response.code(), operation).toBe("out_of_scope");
      }
    }
  });

  test("the metadata of the latest version decides immediately, also for older versions", async () => {
    const name = freshName();
    await protectSecret(ann, {
      key_name: name,
      key_value: "1",
      metadata: { cloud_type: "before" },
    });
    const before = await scoped({ cloud_type: ["before"], secret_name: [name] });
    const after = await scoped({ cloud_type: ["after"], secret_name: [name] });
    expect(await listNames(before)).toEqual([name]);
    expect(await listNames(after)).toEqual([]);
    await protectSecret(ann, { key_name: name, key_value: "2", metadata: { cloud_type: "after" } });
    expect(await listNames(before)).toEqual([]);
    expect(await listNames(after)).toEqual([name]);
    expect((await before.call("version_expose", { key_name: name, key_version: 1 })).code()).toBe(
      "out_of_scope",
    );
    expect(
      (await after.call("version_expose", { key_name: name, key_version: 1 })).json().key_value,
    ).toBe("1");
  });

  test("a secret cannot be created, changed or moved outside the token's scope", async () => {
    const name = freshName();
    const caller = await scoped({ cloud_type: ["mine"] });
    expect((await caller.call("protect", { key_name: name, key_value: "v" })).code()).toBe(
      "out_of_scope",
    );
    expect(await listNames(ann)).not.toContain(name);
    expect(
      (
        await caller.call("protect", {
          key_name: name,
          key_value: "v",
          metadata: { cloud_type: "mine" },
        })
      ).status,
    ).toBe(200);
    expect(
      (
        await caller.call("protect", {
          key_name: name,
          key_value: "w",
          metadata: { cloud_type: "other" },
        })
      ).code(),
    ).toBe("out_of_scope");
    await protectSecret(ann, { key_name: name, key_value: "x", metadata: { cloud_type: "other" } });
    expect(
      (
        await caller.call("protect", {
          key_name: name,
          key_value: "y",
          metadata: { cloud_type: "mine" },
        })
      ).code(),
    ).toBe("out_of_scope");
    expect(await readValue(ann, name)).toBe("x");
  });

  test("an unknown name is secret_not_found for any scope", async () => {
    const caller = await scoped({ secret_name: ["only-this"] });
    expect((await caller.call("expose", { key_name: "nowhere" })).code()).toBe("secret_not_found");
  });

  test("percent-encoded values are literal: comma, colon, star and the word all", async () => {
    for (const name of ["a,b", "a:b", "*", "all", "100%"]) {
      await protectSecret(ann, { key_name: name, key_value: name });
      const encoded = encodeURIComponent(name).replace("*", "%2A").replace("all", "%61ll");
      const caller = await scoped({ secret_name: [encoded] });
      expect(await listNames(caller)).toEqual([name]);
    }
  });
});

describe("reading secrets", () => {
  test("responds not found for unknown names and versions and for other users' secrets", async () => {
    const name = freshName();
    await protectSecret(ann, { key_name: name, key_value: "v" });
    for (const [operation, body] of unsharedReads) {
      expect((await ann.call(operation, { key_name: "nowhere", ...body })).code()).toBe(
        "secret_not_found",
      );
      expect((await bob.call(operation, { key_name: name, ...body })).code()).toBe(
        "secret_not_found",
      );
    }
    expect((await ann.call("version_expose", { key_name: name, key_version: 2 })).code()).toBe(
      "version_not_found",
    );
    expect((await ann.call("version_expose", { key_name: name, key_version: "1" })).code()).toBe(
      "invalid_request",
    );
    expect((await ann.call("version_expose", { key_name: name })).code()).toBe("invalid_request");
    expect(await listNames(bob)).not.toContain(name);
  });

  test("keeps secrets of two users with the same name apart", async () => {
    const name = freshName();
    await protectSecret(ann, { key_name: name, key_value: "ann's" });
    await protectSecret(bob, { key_name: name, key_value: "bob's" });
    expect(await readValue(ann, name)).toBe("ann's");
    expect(await readValue(bob, name)).toBe("bob's");
  });

  test("list_no_dup has each secret once with its latest version, in code point order, no values", async () => {
    await using other = await TestVault.start();
    const eve = await other.client("ann@example.com");
    const canary = "canary-5d1b7e";
    for (const name of ["\u{10000}", "\uffff", "b", "a", "B", "a"])
      await protectSecret(eve, { key_name: name, key_value: canary });
    const response = await eve.call("list_no_dup");
    const listed = response
      .json()
      .secrets.map((secret: { key_name: string; key_version: number }) => [
        secret.key_name,
        secret.key_version,
      ]);
    expect(listed).toEqual([
      ["B", 1],
      ["a", 2],
      ["b", 1],
      ["\uffff", 1],
      ["\u{10000}", 1],
    ]);
    expect(response.bytes.toString()).not.toContain(canary);
    expect((await eve.call("version_list", { key_name: "a" })).bytes.toString()).not.toContain(
      canary,
    );
  });

  test("list_no_dup responds with an empty array for no secrets", async () => {
    await using other = await TestVault.start();
    expect((await (await other.client("bob@example.com")).call("list_no_dup")).json()).toEqual({
      secrets: [],
    });
  });
});

const MINUTE = 60_000;
const DAY = 86_400_000;

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
