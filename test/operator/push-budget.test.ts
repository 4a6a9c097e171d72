import { expect, test } from "vitest";
import { ACCOUNT } from "../lab/simulated/simulated-vault.ts";
import { NAMESPACE } from "../lab/simulated/pushes.ts";
import { SimulatedWorld, withPushSource } from "../lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Versions that pushes may write to one entry in an hour. */
const BUDGET = 30;

/** Returns the number of versions of a secret in the vault, and the value of the latest one. */
function entry(scene: SimulatedWorld, name = "db"): { count: number; latest: string } {
  let count = 0;
  while (scene.vault().bytesOf("secret", ACCOUNT, name, count + 1) !== undefined) count += 1;
  return {
    count,
    latest: Buffer.from(scene.vault().bytesOf("secret", ACCOUNT, name, count) ?? []).toString(),
  };
}

const isWrite = (operation: string): boolean => operation === "protect";

/** Starts an operator with a VaultPush of the Secret `source`. */
async function started(): Promise<SimulatedWorld> {
  const scene = await withPushSource({ password: "value 0" });
  scene.pushes.put();
  await scene.settle(1_000);
  return scene;
}

/**
 * Gives the Secret the values of these numbers, each for longer than the operator takes to push it.
 */
async function rotate(scene: SimulatedWorld, first: number, last: number): Promise<void> {
  for (let value = first; value <= last; value += 1) {
    scene.pushes.source({ password: `value ${value}` });
    await scene.settle(15_000);
  }
}

test("pushes that a template leads back to their Secret write 30 versions an hour, and say so", async () => {
  await using scene = await SimulatedWorld.forPushes();
  const read = (name: string, key: string, value: string): void => {
    const target = { name, template: { data: { password: value } } };
    const data = [{ secretKey: "v", remoteRef: { key } }];
    scene.put(
      vaultSecretKind,
      { namespace: NAMESPACE, name: `to-${name}` },
      { connectionRef: { name: "vault" }, data, target },
    );
  };
  const push = (secret: string, key: string): void =>
    scene.pushes.put(
      { secret: { name: secret }, data: [{ secretKey: "password", remoteRef: { key } }] },
      `from-${secret}`,
    );
  scene.pushes.source({ password: "one" });
  push("source", "x");
  read("other", "x", "{{ v }}!");
  push("other", "y");
  await scene.settle();
  scene.server.delete(SECRETS, { namespace: NAMESPACE, name: "source" });
  read("source", "y", "{{ v }}");
  await scene.settle(50 * MINUTE);
  expect(Math.max(entry(scene, "x").count, entry(scene, "y").count)).toBe(BUDGET);
  expect(["from-source", "from-other"].map((name) => scene.pushes.reason(name))).toContain(
    "TargetContested",
  );
  await scene.settle(2 * HOUR);
  expect(entry(scene, "x").count).toBeGreaterThan(2 * BUDGET);
  expect(entry(scene, "x").count).toBeLessThanOrEqual(3 * BUDGET);
});

test("a value that changes more than 30 times in an hour is pushed at the time in the message", async () => {
  await using scene = await started();
  const begin = scene.clock.now();
  await rotate(scene, 1, BUDGET - 1);
  expect(entry(scene).count).toEqual(BUDGET);
  expect(scene.pushes.reason()).toBe("Synced");
  await rotate(scene, BUDGET, BUDGET + 2);
  const message = scene.pushes.condition("Stalled")?.message ?? "";
  expect(entry(scene).count).toEqual(BUDGET);
  expect(scene.pushes.reason()).toBe("TargetContested");
  expect(message).toMatch(
    /^secret db: 30 versions were pushed within an hour; the next one follows at \S+Z\. .* Secret source/,
  );
  const next = Date.parse(/at (\S+Z)/.exec(message)?.[1] ?? "");
  expect(next - begin).toBeLessThanOrEqual(HOUR);
  await scene.settle(next - scene.clock.now() - 100);
  expect(scene.pushes.condition("Stalled")?.message).toBe(message);
  expect(entry(scene).count).toBe(BUDGET);
  await scene.settle(200);
  expect(entry(scene)).toEqual({ count: BUDGET + 1, latest: `value ${BUDGET + 2}` });
  expect(scene.pushes.reason()).toBe("Synced");
});

test("the versions of an entry count for all VaultPushes and connections, and for no other entry", async () => {
  await using scene = await started();
  await rotate(scene, 1, BUDGET - 1);
  scene.pushes.delete();
  scene.pushes.connect("second", {
    email: ACCOUNT.toUpperCase(),
    url: "https://vault.example.com/",
  });
  scene.pushes.put({ connectionRef: { name: "second" } }, "other");
  await rotate(scene, BUDGET, BUDGET + 1);
  expect(entry(scene).count).toEqual(BUDGET);
  expect(scene.pushes.reason("other")).toBe("TargetContested");
  scene.pushes.put(
    {
      connectionRef: { name: "second" },
      data: [{ secretKey: "password", remoteRef: { key: "new" } }],
    },
    "other",
  );
  await scene.settle();
  expect(entry(scene, "new").count).toBe(1);
  expect(scene.pushes.reason("other")).toBe("Synced");
});

test("a version whose response was lost counts, and an attempt that stored nothing does not", async () => {
  await using scene = await started();
  let loses: "request" | "response" = "request";
  const lost = { status: 503, headers: {}, body: new Uint8Array() };
  scene.vault().network = {
    send: ({ operation }) =>
      Promise.resolve(isWrite(operation) && loses === "request" ? lost : undefined),
    respond: ({ operation }, response) => Promise.resolve(isWrite(operation) ? lost : response),
  };
  await rotate(scene, 1, 2);
  await scene.settle(55 * MINUTE);
  expect(entry(scene).count).toBe(1);
  await scene.settle(HOUR);
  loses = "response";
  await scene.settle(2 * MINUTE);
  for (let value = 3; value <= BUDGET + 4; value += 1) {
    scene.pushes.source({ password: `value ${value}` });
    await scene.settle(75_000);
  }
  expect(entry(scene).count).toEqual(1 + BUDGET);
  expect(scene.pushes.reason()).toBe("TargetContested");
});

test("a version whose response was lost counts, also if the Secret has changed since", async () => {
  await using scene = await started();
  const lost = { status: 503, headers: {}, body: new Uint8Array() };
  let next: string | undefined;
  scene.vault().network = {
    respond: ({ operation }, response) => {
      if (!isWrite(operation) || next === undefined) return Promise.resolve(response);
      scene.pushes.source({ password: next });
      next = undefined;
      return Promise.resolve(lost);
    },
  };
  for (let round = 0; round < 20; round += 1) {
    next = `second ${round}`;
    scene.pushes.source({ password: `first ${round}` });
    await scene.settle(75_000);
  }
  expect(entry(scene).count).toBe(BUDGET);
  expect(scene.pushes.reason()).toBe("TargetContested");
});
