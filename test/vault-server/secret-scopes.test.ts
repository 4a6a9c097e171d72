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

const clock = new VirtualClock();
const freshName = nameSequence("secret");
const { vault, ann } = await useVault({ clock });

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
