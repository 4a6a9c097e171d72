import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import {
  AuthError,
  PermanentError,
  RateLimitedError,
  TransientError,
} from "../../../src/operator/vault-client/vault-error.ts";

const target = { namespace: "shop", name: "db" };
const ACCEPT = "vaultsync.dev/accept";

/** Starts an operator that has synced this version of the secrets `a` and `db`. */
async function synced(version = 1): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.following([{ name: "a" }, { name: "db", version }], {
    one: "a",
    password: "db",
  });
  expect(scene.outcome()).toBe(`one=vault a@1 password=vault db@${version}, Synced`);
  return scene;
}

describe("a vault that returns another version than it lists", () => {
  test("leaves the resource not Ready, without writes, until it returns the listed one", async () => {
    await using scene = await synced();
    scene.vault().expose = (name) => (name === "db" ? { version: 1 } : {});
    scene.vault().lists({ name: "a" }, { name: "db", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@1 password=vault db@1, Progressing");
    expect(scene.status().items).toMatchObject([{ version: 1 }, { version: 1, latest: 2 }]);
    scene.takeRequests();
    await scene.settle(3_600_000);
    expect(scene.takeRequests()).toEqual([]);
    expect(scene.vault().reads.length).toBeLessThan(100);
    scene.vault().expose = () => ({});
    await scene.settle(120_000);
    expect(scene.outcome()).toBe("one=vault a@1 password=vault db@2, Synced");
  });

  test("leaves a new resource without a target not Ready, with the version that it returned", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().expose = () => ({ version: 1 });
    scene.vault().lists({ name: "db", version: 2 });
    scene.follow({ password: "db" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Progressing");
    scene.vault().expose = () => ({});
    await scene.settle(120_000);
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
  });
});

describe("a version that went back", () => {
  test("is not served by recreating the target that was deleted by hand", async () => {
    await using scene = await synced(5);
    scene.vault().lists({ name: "a" }, { name: "db", version: 4 });
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("VersionRegressed");
    scene.server.delete(SECRETS, target);
    await scene.settle();
    expect(scene.outcome()).toBe("absent, VersionRegressed");
    await scene.replace();
    expect(scene.outcome()).toBe("absent, VersionRegressed");
    scene.annotate({ [ACCEPT]: "db@4" });
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@1 password=vault db@4, Synced");
  });

  test("is served after the target was deleted while the vault had the same version", async () => {
    await using scene = await synced(5);
    scene.server.delete(SECRETS, target);
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@1 password=vault db@5, Synced");
  });
});

describe("an empty new version", () => {
  test("holds only its own key, which is followed again by the next version", async () => {
    await using scene = await synced();
    scene.vault().expose = (name, version) => (name === "db" && version === 2 ? { value: "" } : {});
    scene.vault().lists({ name: "a", version: 2 }, { name: "db", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@2 password=vault db@1, SourceSuspicious");
    expect(scene.status().items).toMatchObject([{ version: 2 }, { version: 1, latest: 2 }]);
    await scene.replace();
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@2 password=vault db@1, SourceSuspicious");
    scene.vault().lists({ name: "a", version: 3 }, { name: "db", version: 3 });
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@3 password=vault db@3, Synced");
  });

  test("is written when a user accepts it, also if its name has a comma", async () => {
    await using scene = await SimulatedWorld.following([{ name: "a,b@1" }], {
      password: "a,b@1",
    });
    scene.vault().expose = () => ({ value: "" });
    scene.vault().lists({ name: "a,b@1", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault a,b@1@1, SourceSuspicious");
    scene.annotate({ [ACCEPT]: "other@7, a,b@1@2" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=, Synced");
  });

  test("causes no reads and writes while it lasts", async () => {
    await using scene = await synced();
    scene.vault().expose = (name, version) => (name === "db" && version === 2 ? { value: "" } : {});
    scene.vault().lists({ name: "a" }, { name: "db", version: 2 });
    await scene.settle();
    scene.takeRequests();
    const reads = scene.vault().reads.length;
    await scene.settle(600_000);
    expect(scene.takeRequests()).toEqual([]);
    expect(scene.vault().reads.length - reads).toBeLessThan(4);
  });
});

describe("the same version with other bytes, as after a restored backup", () => {
  test("is not written over the key that it repairs, until a user accepts it", async () => {
    await using scene = await synced();
    scene.vault().expose = (name) => (name === "db" ? { value: "restored" } : {});
    scene.edit({ one: "edited", password: "edited" });
    await scene.settle();
    expect(scene.outcome()).toBe("one=edited password=edited, SourceSuspicious");
    scene.annotate({ [ACCEPT]: "db@1" });
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@1 password=restored, Synced");
  });

  test("is followed in a target that does not exist", async () => {
    await using scene = await synced();
    scene.vault().expose = (name) => (name === "db" ? { value: "restored" } : {});
    scene.server.delete(SECRETS, target);
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@1 password=restored, Synced");
  });

  test("is followed if the list says that the version was recreated", async () => {
    await using scene = await SimulatedWorld.following([{ name: "db", createdAt: 1_000 }], {
      password: "db",
    });
    scene.vault().expose = () => ({ value: "recreated" });
    scene.vault().lists({ name: "db", createdAt: 2_000 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=recreated, Synced");
  });

  // With the version in it, the target got the bytes of the new entry, and nothing said so.
  test.each(["*", '{"versions": {"password": 2}}'])(
    "is not followed with the hold %s",
    async (hold) => {
      await using scene = await SimulatedWorld.following(
        [{ name: "db", version: 2, createdAt: 1_000 }],
        { password: "db" },
      );
      scene.annotate({ "vaultsync.dev/hold": hold });
      scene.vault().expose = () => ({ value: "recreated" });
      scene.vault().lists({ name: "db", version: 2, createdAt: 2_000 });
      await scene.settle();
      expect(scene.outcome()).toBe("password=vault db@2, Synced");
      expect(scene.condition("UpdateAvailable")).toMatchObject({
        reason: "Held",
        message: "newer versions that are held back: db 2 → 2 (recreated)",
      });
      scene.annotate({ "vaultsync.dev/hold": null });
      await scene.settle();
      expect(scene.outcome()).toBe("password=recreated, Synced");
    },
  );

  // The key that was renamed lost its version in the hold, and the resource was Ready without it.
  test("is not followed with a hold of a version that does not exist, under a new key", async () => {
    await using scene = await SimulatedWorld.following(
      [{ name: "db", version: 1, createdAt: 1_000 }],
      { password: "db" },
    );
    scene.annotate({ "vaultsync.dev/hold": '{"versions": {"login": 5}}' });
    scene.vault().expose = () => ({ value: "recreated" });
    scene.vault().lists({ name: "db", version: 1, createdAt: 2_000 });
    scene.follow({ login: "db" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, VersionNotFound");
  });

  // The list has no creation time of such a version.
  test("is unknown below the latest one: its bytes stay until the target is deleted", async () => {
    await using scene = await SimulatedWorld.following(
      [{ name: "db", version: 2, createdAt: 1_000 }],
      {},
    );
    const data = [{ secretKey: "password", remoteRef: { key: "db", version: 1 } }];
    scene.follow({}, { data });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    scene.vault().expose = () => ({ value: "recreated" });
    scene.vault().lists({ name: "db", version: 2, createdAt: 2_000 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    scene.server.delete(SECRETS, target);
    await scene.settle();
    expect(scene.outcome()).toBe("password=recreated, Synced");
  });
});

describe("a failing read", () => {
  test("advances observedGeneration, and leaves Ready to the generation that was in sync", async () => {
    await using scene = await synced();
    scene.vault().expose = () => {
      throw new TransientError("expose", "timeout");
    };
    scene.follow({ one: "a", password: "db", more: "db" });
    await scene.settle();
    expect(scene.status().observedGeneration).toBe(2);
    expect(scene.condition("Ready")).toMatchObject({ status: "True", observedGeneration: 1 });
    expect(scene.condition("Reconciling")).toMatchObject({
      reason: "VaultUnreachable",
      observedGeneration: 2,
    });
    scene.vault().expose = () => ({});
    await scene.settle(120_000);
    expect(scene.condition("Ready")).toMatchObject({ status: "True", observedGeneration: 2 });
  });

  test("of a throttled vault is reported once, without the changing delay", async () => {
    await using scene = await synced();
    let delayMs = 30_000;
    scene.vault().expose = () => {
      throw new RateLimitedError("expose", (delayMs -= 1_000));
    };
    scene.vault().lists({ name: "a" }, { name: "db", version: 2 });
    await scene.settle();
    expect(scene.condition("Reconciling")?.reason).toBe("RateLimited");
    scene.takeRequests();
    // Later the status shows that the vault is not listed either.
    await scene.settle(150_000);
    expect(scene.takeRequests()).toEqual([]);
  });

  test("that the vault rejects permanently asks for one list, and is repeated rarely", async () => {
    await using scene = await synced();
    scene.vault().expose = (name) => {
      if (name === "db") throw new PermanentError("expose", "version_not_found");
      return {};
    };
    scene.vault().calls.length = 0;
    scene.follow(
      { password: { key: "db", version: 1 }, more: { key: "db", version: 1 } },
      { name: "pinned" },
    );
    await scene.settle();
    expect(scene.outcome("pinned")).toBe("absent, VersionNotFound");
    const reads = scene.vault().reads.length;
    await scene.settle(3_600_000);
    expect(scene.vault().polls).toBe(1);
    expect(scene.vault().reads.length - reads).toBeLessThan(20);
  });

  test("of a name that the vault lists and does not have asks for one list", async () => {
    await using scene = await synced();
    scene.vault().expose = (name) => {
      if (name === "db") throw new PermanentError("expose", "secret_not_found");
      return {};
    };
    scene.vault().calls.length = 0;
    scene.vault().lists({ name: "a" }, { name: "db", version: 2 });
    await scene.settle(60_000);
    expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
    expect(scene.vault().polls).toBe(1);
  });

  test("that the vault denies asks for no list", async () => {
    await using scene = await synced();
    scene.vault().expose = () => {
      throw new PermanentError("expose", "forbidden");
    };
    scene.vault().calls.length = 0;
    scene.vault().lists({ name: "a" }, { name: "db", version: 2 });
    await scene.settle(60_000);
    expect(scene.condition("Ready")?.reason).toBe("ScopeDenied");
    expect(scene.vault().polls).toBe(0);
  });

  test("that fails for the credentials concerns the connection, not the target", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().expose = () => {
      throw new AuthError("generate_access_token", "credentials", 3_600_000);
    };
    scene.vault().lists({ name: "db" });
    scene.follow({ password: "db" });
    await scene.settle();
    expect(scene.outcome()).toBe("absent, AuthFailed");
  });
});

test("the version of another vault is no reason to refuse the version of this one", async () => {
  await using scene = await SimulatedWorld.following([{ name: "db", version: 5 }], {
    password: "db",
  });
  scene.connect("other");
  scene.vault("other").lists();
  scene.follow({ password: "db" }, { connection: "other" });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@5, SourceMissing");
  scene.deleteTarget();
  await scene.settle();
  scene.vault("other").lists({ name: "db", version: 1 });
  await scene.settle(120_000);
  expect(scene.outcome()).toBe("password=other db@1, Synced");
});

/** Changes a key of the target and the version that the target claims, as another writer does. */
function invent(scene: SimulatedWorld, key: string): void {
  const annotations = { "vaultsync.dev/versions": '{"password":99}' };
  const data = { [key]: Buffer.from("edited").toString("base64") };
  scene.server.patch(SECRETS, target, { data, metadata: { annotations } });
}

const reported = (scene: SimulatedWorld) => scene.status().items?.[0]?.version;

// The status reported the edited version of a target that was not read, and the target was not
// repaired: the vault seemed to have gone back.
describe("a version that another writer invents is not reported", () => {
  test("while a repair waits", async () => {
    await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
    for (let edits = 0; edits < 4; edits += 1) {
      invent(scene, "password");
      await scene.settle(1_000);
    }
    expect(scene.outcome()).toBe("password=edited, TargetContested");
    expect(reported(scene)).toBe(1);
    await scene.settle(600_000);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("while the type of the spec requires other keys", async () => {
    await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
    scene.follow({ password: "db" }, { target: { type: "kubernetes.io/tls" } });
    await scene.settle();
    invent(scene, "password");
    await scene.settle();
    expect(scene.outcome()).toBe("password=edited, InvalidSpec");
    expect(reported(scene)).toBe(1);
    scene.follow({ password: "db" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("while a template lacks a source", async () => {
    const spec = { target: { template: { data: { all: "{{ vars.password }}" } } } };
    await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" }, spec);
    scene.follow({ password: "db", a: "a" }, spec);
    await scene.settle();
    invent(scene, "all");
    await scene.settle();
    expect(scene.outcome()).toBe("all=edited, SourceMissing");
    expect(reported(scene)).toBe(1);
    scene.vault().lists({ name: "a" }, { name: "db" });
    await scene.settle();
    expect(scene.outcome()).toBe("all=vault db@1, Synced");
  });
});
