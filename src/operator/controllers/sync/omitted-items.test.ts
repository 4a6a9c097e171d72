import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../../../test/lab/simulated/simulated-world.ts";
import { HOLD_ANNOTATION, VERSIONS_ANNOTATION } from "../../api/names.ts";
import { vaultSecretKind } from "../../api/kinds.ts";
import { MAX_STATUS_ITEMS } from "../../api/status.ts";
import { SECRETS } from "../../kube/resource.ts";

const names = Array.from({ length: MAX_STATUS_ITEMS + 2 }, (_, n) => `db-${100 + n}`);
const listed = (version: number, all = names) => all.map((name) => ({ name, version }));

/** Starts an operator whose target has the first version of more secrets than its status shows. */
async function synced(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  scene.vault().lists(...listed(1));
  const spec = {
    connectionRef: { name: "vault" },
    dataFrom: [{ find: { name: { regexp: "^db-" } } }],
  };
  scene.put(vaultSecretKind, { namespace: "shop", name: "db" }, spec);
  await scene.settle();
  expect(scene.status().itemsOmitted).toBe(2);
  return scene;
}

const freeze = (scene: SimulatedWorld): void => scene.freeze();
const hold = (scene: SimulatedWorld): void => scene.annotate({ [HOLD_ANNOTATION]: "*" });

/** Returns the versions of the keys of the target. */
function versionsOf(scene: SimulatedWorld): Readonly<Record<string, number>> {
  const { metadata } = scene.server.get(SECRETS, { namespace: "shop", name: "db" });
  return JSON.parse(metadata.annotations?.[VERSIONS_ANNOTATION] ?? "{}");
}

const first = Object.fromEntries(names.map((name) => [name, 1]));

// A repair took what the status omits for additions of the rule, and removed it; a hold did not
// keep its versions.
describe("items that the status omits", () => {
  test.each([
    { gate: "a freeze", close: freeze },
    { gate: "a hold", close: hold },
  ])("keep their versions when the target is edited during $gate", async ({ close }) => {
    await using scene = await synced();
    close(scene);
    await scene.settle();
    scene.vault().lists(...listed(2));
    await scene.settle();
    scene.edit({ "db-100": "edited" });
    await scene.settle();
    expect(versionsOf(scene)).toEqual(first);
    await scene.stop();
    scene.edit({ "db-100": "edited" });
    await scene.replace();
    expect(versionsOf(scene)).toEqual(first);
    expect(scene.condition("Ready")?.status).toBe("True");
  });

  test("are in a target that is created again during a freeze", async () => {
    await using scene = await synced();
    freeze(scene);
    await scene.settle();
    scene.deleteTarget();
    await scene.settle();
    expect(versionsOf(scene)).toEqual(first);
  });

  test("are no reason to add what a rule finds during a freeze", async () => {
    await using scene = await synced();
    freeze(scene);
    await scene.settle();
    scene.vault().lists(...listed(1, [...names, "db-200"]));
    await scene.settle();
    scene.edit({ "db-100": "edited" });
    await scene.settle();
    expect(versionsOf(scene)).toEqual(first);
  });
});

// The status omitted the last item of the spec with its deadline: the bytes stayed as if a user had
// deleted the secret.
test("an item whose deadline passes while no operator runs is not among them", async () => {
  const data = names.map((name) => ({ secretKey: name, remoteRef: { key: name } }));
  await using scene = await SimulatedWorld.shop();
  scene.vault().lists(...listed(1));
  scene.follow({}, { data });
  await scene.settle();
  const [last = ""] = names.slice(-1);
  const rest = names.slice(0, -1);
  const deleteAt = scene.clock.now() + 60_000;
  scene.vault().lists(...listed(1, rest), { name: last, deleteAt });
  await scene.settle();
  expect(scene.status().itemsOmitted).toBe(2);
  await scene.stop();
  await scene.clock.advance(120_000);
  scene.vault().lists(...listed(1, rest));
  await scene.replace();
  expect(Object.keys(versionsOf(scene))).toEqual(rest);
  expect(scene.condition("Ready")?.reason).toBe("SourceRemoved");
});
