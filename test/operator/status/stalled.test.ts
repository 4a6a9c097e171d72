import { describe, expect, test } from "vitest";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { CREDENTIALS_TYPE } from "../../../src/operator/api/names.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { PASSWORD } from "../../lab/simulated/simulated-vault.ts";

const MINUTE = 60_000;

/** Starts an operator whose resource names a secret that does not exist. */
const misspelled = (spec: Readonly<Record<string, unknown>> = {}): Promise<SimulatedWorld> =>
  SimulatedWorld.following([{ name: "db" }], { password: "bd" }, spec);

const stalled = (scene: SimulatedWorld) => scene.condition("Stalled");

describe("a resource that never had a target is Stalled after five minutes", () => {
  test("with the reason that it still waits for, and once", async () => {
    await using scene = await misspelled();
    await scene.settle(4 * MINUTE);
    expect(stalled(scene)).toBeUndefined();
    await scene.settle(MINUTE);
    const { reason, message } = scene.condition("Ready")!;
    expect(reason).toBe("SourceMissing");
    expect(stalled(scene)).toMatchObject({ status: "True", reason, message });
    scene.takeRequests();
    await scene.settle(20 * MINUTE);
    expect(scene.takeRequests()).toEqual([]);
  });

  test.each([
    ["a connection that does not exist", { connection: "valut" }, "ConnectionNotFound"],
    ["a rule that finds nothing", { dataFrom: [{ find: { name: { regexp: "^x" } } }] }, ""],
  ])("because of %s", async (_, spec, reason) => {
    await using scene = await misspelled(spec);
    await scene.settle(5 * MINUTE);
    expect(stalled(scene)?.reason).toBe(reason || "SourceMissing");
  });

  test("although the vault is retried: who waits for the resource stops", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.connect("vault", { url: "https://valut.example.com" });
    scene.follow({ password: "db" });
    await scene.settle(4 * MINUTE);
    expect(stalled(scene)).toBeUndefined();
    await scene.settle(10 * MINUTE);
    expect(stalled(scene)?.reason).toBe(scene.condition("Ready")?.reason);
    expect(scene.condition("Reconciling")).toBeUndefined();
  });

  test("until it has one", async () => {
    await using scene = await misspelled();
    await scene.settle(6 * MINUTE);
    scene.vault().lists({ name: "bd" });
    await scene.settle(MINUTE);
    expect(scene.outcome()).toBe("password=vault bd@1, Synced");
    expect(stalled(scene)).toBeUndefined();
  });

  test("again after a change of its spec, in five minutes", async () => {
    await using scene = await misspelled();
    await scene.settle(6 * MINUTE);
    scene.follow({ password: "dbb" });
    await scene.settle(4 * MINUTE);
    expect(scene.condition("Ready")?.message).toContain("dbb");
    expect(stalled(scene)).toBeUndefined();
    await scene.settle(2 * MINUTE);
    expect(stalled(scene)?.reason).toBe("SourceMissing");
  });

  test("and stays it when the operator restarts", async () => {
    await using scene = await misspelled();
    await scene.settle(6 * MINUTE);
    const before = scene.status();
    await scene.replace();
    await scene.settle(MINUTE);
    expect(scene.status()).toEqual(before);
  });
});

describe("a resource is not Stalled by what it waits for", () => {
  test("when it had a target", async () => {
    await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
    scene.vault().lists();
    await scene.settle(20 * MINUTE);
    expect(scene.outcome()).toBe("password=vault db@1, SourceMissing");
    expect(stalled(scene)).toBeUndefined();
    scene.deleteTarget();
    await scene.settle(20 * MINUTE);
    expect(scene.outcome()).toBe("absent, SourceMissing");
    expect(stalled(scene)).toBeUndefined();
  });

  test("while it is suspended, and for five minutes afterwards", async () => {
    await using scene = await misspelled({ suspend: true });
    await scene.settle(20 * MINUTE);
    expect(stalled(scene)).toBeUndefined();
    scene.follow({ password: "bd" });
    await scene.settle(4 * MINUTE);
    expect(stalled(scene)).toBeUndefined();
    await scene.settle(MINUTE);
    expect(stalled(scene)?.reason).toBe("SourceMissing");
  });
});

// Found by the simulation: the connection did not exist, and nothing wrote the status of the target
// again.
test("a resource whose status was removed is not Stalled while it has a target", async () => {
  await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  scene.follow({ password: "db" }, { connection: "none" });
  scene.server.replaceStatus(vaultSecretKind, scene.resource().metadata, {});
  await scene.settle(20 * MINUTE);
  expect(scene.outcome()).toBe("password=vault db@1, ConnectionNotFound");
  expect(stalled(scene)?.status).not.toBe("True");
  scene.deleteTarget();
  await scene.settle(20 * MINUTE);
  expect(stalled(scene)?.status).toBe("True");
});

const login = { namespace: "shop", name: "late" };

/** Creates the credentials Secret `late` with the right password. */
const createLogin = ({ server }: SimulatedWorld): object =>
  server.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: login,
    type: CREDENTIALS_TYPE,
    data: { password: Buffer.from(PASSWORD).toString("base64") },
  });

/** Starts an operator with a connection whose credentials Secret does not exist. */
async function withoutLogin(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop("db");
  scene.connect("vault", { auth: { passwordSecretRef: { name: login.name } } });
  scene.follow({ password: "db" });
  await scene.settle();
  return scene;
}

const reasons = (scene: SimulatedWorld) =>
  ["Ready", "Stalled"].map((type) => scene.connectionCondition(type)?.reason);

test("a connection waits five minutes for its credentials Secret, then it is Stalled", async () => {
  await using scene = await withoutLogin();
  expect(reasons(scene)).toEqual(["CredentialsMissing", undefined]);
  await scene.settle(4 * MINUTE);
  expect(reasons(scene)).toEqual(["CredentialsMissing", undefined]);
  await scene.settle(MINUTE);
  expect(reasons(scene)).toEqual(["CredentialsMissing", "CredentialsMissing"]);
  await scene.replace();
  expect(reasons(scene)).toEqual(["CredentialsMissing", "CredentialsMissing"]);
});

test.each([1, 30])(
  "a credentials Secret that appears after %d minutes is used",
  async (minutes) => {
    await using scene = await withoutLogin();
    await scene.settle(minutes * MINUTE);
    createLogin(scene);
    await scene.settle(1_000);
    expect(reasons(scene)).toEqual(["Synced", undefined]);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  },
);

test("a connection whose credentials Secret is deleted is Stalled at its next login", async () => {
  await using scene = await withoutLogin();
  createLogin(scene);
  await scene.settle(MINUTE);
  scene.server.delete(SECRETS, login);
  await scene.replace();
  expect(reasons(scene)).toEqual(["CredentialsMissing", "CredentialsMissing"]);
});
