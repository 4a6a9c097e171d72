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
import { useVault } from "../lab/vault/use-vault.ts";

const clock = new VirtualClock();
const freshName = nameSequence("secret");
const { ann, bob } = await useVault({ clock });

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
