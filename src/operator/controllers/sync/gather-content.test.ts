import { describe, expect, test } from "vitest";
import { certificate } from "../../../../test/lab/certificates.ts";
import { SimulatedWorld } from "../../../../test/lab/simulated/simulated-world.ts";
import { PermanentError } from "../../vault-client/vault-error.ts";

/** Starts an operator that has synced this version of `db`. */
async function synced(version: number): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.following([{ name: "db", version }], { password: "db" });
  expect(scene.outcome()).toBe(`password=vault db@${version}, Synced`);
  return scene;
}

/** Lists version 3, and returns this one of it. */
async function returns(scene: SimulatedWorld, version: number): Promise<void> {
  scene.vault().expose = () => ({ version });
  scene.vault().lists({ name: "db", version: 3 });
  await scene.settle();
}

const messages = (scene: SimulatedWorld) => [
  scene.condition("Ready")?.message,
  scene.condition("Reconciling")?.message,
];

describe("a vault that lists version 3 and returns an earlier one", () => {
  test("takes the target to that version if it is newer than the synced one", async () => {
    await using scene = await synced(1);
    await returns(scene, 2);
    expect(scene.outcome()).toBe("password=vault db@2, Progressing");
    expect(messages(scene)).toContain(
      "db: the vault returned version 2 instead of 3, which its list shows: the operator retries",
    );
  });

  test("never takes the target back", async () => {
    await using scene = await synced(2);
    await returns(scene, 1);
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    expect(messages(scene)).toContain("db: the vault returned version 1 instead of 3");
  });

  test("repairs an edited target with the version that it had", async () => {
    await using scene = await synced(2);
    await returns(scene, 2);
    scene.edit({ password: "edited" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2, Progressing");
  });

  test("does not serve a pinned version", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().expose = () => ({ version: 1 });
    scene.vault().lists({ name: "db", version: 3 });
    scene.follow({ password: { key: "db", version: 2 } });
    await scene.settle();
    expect(scene.outcome()).toBe("absent, UnexpectedResponse");
    expect(scene.condition("Ready")?.message).toBe("db: the vault returned version 1 instead of 2");
  });
});

test("a pinned version stays when the vault has later ones", async () => {
  await using scene = await SimulatedWorld.following([{ name: "db", version: 3 }], {
    password: { key: "db", version: 2 },
  });
  expect(scene.outcome()).toBe("password=vault db@2, Synced");
  scene.vault().lists({ name: "db", version: 4 });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@2, Synced");
});

describe("a target that was edited while no operator ran", () => {
  test("is not replaced by an empty new version", async () => {
    await using scene = await synced(1);
    await scene.stop();
    scene.edit({ password: "edited" });
    scene.vault().expose = () => ({ value: "" });
    scene.vault().lists({ name: "db", version: 2 });
    await scene.replace();
    expect(scene.outcome()).toBe("password=edited, SourceSuspicious");
  });

  test("is replaced by the bytes of its own version, which are known from the vault only", async () => {
    await using scene = await synced(1);
    await scene.stop();
    scene.edit({ password: "edited" });
    scene.vault().expose = () => ({ value: "" });
    await scene.replace();
    expect(scene.outcome()).toBe("password=, Synced");
  });
});

/** Lets all reads of one secret fail, while other ones have these values. */
function serves(
  scene: SimulatedWorld,
  expired: string,
  values: Readonly<Record<string, string>> = {},
): void {
  scene.vault().expose = (name) => {
    if (name === expired) throw new PermanentError("expose", "secret_expired");
    const value = values[name];
    return value === undefined ? {} : { value };
  };
}

/** Returns a certificate and its key as PEM. */
function pairOf(name: string): { readonly crt: string; readonly key: string } {
  const { cert, key } = certificate(name);
  return { crt: cert, key: key.export({ format: "pem", type: "pkcs8" }) };
}

describe("a new version that the vault does not serve", () => {
  const listed = [{ name: "a" }, { name: "b" }];
  const data = { a: "a", b: "b" };

  test("keeps its key, and the other keys follow", async () => {
    await using scene = await SimulatedWorld.following(listed, data);
    serves(scene, "a");
    scene.vault().lists({ name: "a", version: 2 }, { name: "b", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("a=vault a@1 b=vault b@2, Expired");
    expect(scene.status().items).toMatchObject([{ version: 1 }, { version: 2 }]);
    scene.takeRequests();
    await scene.settle(60_000);
    expect(scene.takeRequests()).toEqual([]);
    serves(scene, "none");
    scene.vault().lists({ name: "a", version: 3 }, { name: "b", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("a=vault a@3 b=vault b@2, Synced");
  });

  test("keeps the target as a whole if the failure is retried", async () => {
    await using scene = await SimulatedWorld.following(listed, data);
    scene.vault().unreadable.add("a");
    scene.vault().lists({ name: "a", version: 2 }, { name: "b", version: 2 });
    await scene.settle(60_000);
    expect(scene.outcome()).toBe("a=vault a@1 b=vault b@1, Synced");
    expect(scene.condition("Reconciling")?.reason).toBe("VaultUnreachable");
  });

  test("keeps the target as a whole if the spec names another source", async () => {
    await using scene = await SimulatedWorld.following(listed, data);
    serves(scene, "other");
    scene.vault().lists({ name: "other" }, { name: "b", version: 2 });
    scene.follow({ a: "other", b: "b" });
    await scene.settle();
    expect(scene.outcome()).toBe("a=vault a@1 b=vault b@1, Expired");
  });

  test("keeps a certificate with its key", async () => {
    const [before, after] = ["before", "after"].map(pairOf);
    const keys = { "tls.crt": "crt", "tls.key": "key" };
    await using scene = await SimulatedWorld.shop();
    scene.vault().serves({ ...before });
    scene.follow(keys, { target: { type: "kubernetes.io/tls" } });
    await scene.settle();
    serves(scene, "crt", { ...after });
    scene.vault().lists({ name: "crt", version: 2 }, { name: "key", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe(`tls.crt=${before?.crt} tls.key=${before?.key}, Expired`);
  });
});
