import { expect, test } from "vitest";
import { ACCOUNT, OTHER, PASSWORD } from "../../lab/simulated/simulated-vault.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

const DATA = [
  { secretKey: "password", remoteRef: { key: "db" } },
  { secretKey: "extra", remoteRef: { key: "extra" }, optional: true },
];

/**
 * Starts an operator that has synced a resource with an optional key, from a vault that lists these
 * secrets.
 */
async function synced(names: readonly string[], spec: object = {}): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  lists(scene, names);
  scene.follow({}, { data: DATA, ...spec });
  await scene.settle();
  return scene;
}

const lists = (scene: SimulatedWorld, names: readonly string[]): void =>
  scene.vault().lists(...names.map((name) => ({ name })));
const WITHOUT = "password=vault db@1, Synced";
const WITH = "extra=vault extra@1 password=vault db@1, Synced";

test("a target is created without the key of an optional secret that the vault does not list", async () => {
  await using scene = await synced(["db"]);
  expect(scene.outcome()).toBe(WITHOUT);
  const [password, extra] = scene.status().items ?? [];
  expect(password).toMatchObject({ secretKey: "password", key: "db", version: 1, latest: 1 });
  expect(extra).toEqual({ secretKey: "extra", key: "extra" });
});

test("an optional secret joins with the list that shows it", async () => {
  await using scene = await synced(["db"]);
  lists(scene, ["db", "extra"]);
  await scene.settle();
  expect(scene.outcome()).toBe(WITH);
});

test("the key of an optional secret that disappears is removed on proof, and Ready stays True", async () => {
  await using scene = await synced(["db", "extra"]);
  lists(scene, ["db"]);
  await scene.settle();
  expect(scene.outcome()).toBe(WITH);
  await scene.settle(300_000);
  expect(scene.outcome()).toBe(WITHOUT);
});

// Found by the simulation.
test("a key of another source is dropped immediately if the optional one of the spec is absent", async () => {
  await using scene = await synced(["db", "extra", "other"]);
  scene.follow(
    {},
    { data: [DATA[0], { secretKey: "extra", remoteRef: { key: "absent" }, optional: true }] },
  );
  await scene.settle();
  expect(scene.outcome()).toBe(WITHOUT);
});

// Found by the simulation: Ready was True although the target had not been written.
test("a computed target is not Ready while the absence of an optional secret is not proven", async () => {
  await using scene = await synced(["db", "extra"]);
  scene.vault().expose = (name) => ({ value: JSON.stringify({ [name]: "x" }) });
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(1_000);
  scene.follow({}, { data: DATA, dataFrom: [{ extract: { key: "db" } }] });
  await scene.settle();
  expect(scene.outcome()).toBe('extra=vault extra@1 password={"db":"x"}, SourceMissing');
  expect(scene.condition("Ready")?.message).toContain(
    "the target is left unchanged until its absence is proven",
  );
  await scene.settle(300_000);
  expect(scene.outcome()).toBe('db=x password={"db":"x"}, Synced');
});

// Found by the simulation: Ready was True although the edit was still in the target.
test("an edited target is not Ready until the absence of an optional secret is proven", async () => {
  await using scene = await synced(["db", "extra"]);
  lists(scene, ["db"]);
  await scene.settle(1_000);
  scene.edit({ password: "edited" });
  await scene.settle(1_000);
  expect(scene.outcome()).toBe("extra=vault extra@1 password=edited, SourceMissing");
  expect(scene.condition("Ready")?.message).toBe(
    "extra is not in the vault's list; the edited target is left unchanged until its absence is proven",
  );
  await scene.settle(300_000);
  expect(scene.outcome()).toBe(WITHOUT);
});

// Found by the simulation: Ready was True with the bytes of the former vault.
test.each([
  ["vault", ACCOUNT],
  ["account", OTHER],
])("a key of a former %s is removed on proof, and Ready is False until then", async (_, email) => {
  await using scene = await synced(["db", "extra"]);
  scene.connect("other", { email });
  scene.vault("other").setPassword(email, PASSWORD);
  scene.vault("other").lists({ name: "db", owner: email });
  scene.follow({}, { data: DATA, connection: "other" });
  await scene.settle(5_000);
  const moved = "extra=vault extra@1 password=other db@1, SourceMissing";
  expect(scene.outcome()).toBe(moved);
  await scene.replace();
  expect(scene.outcome()).toBe(moved);
  await scene.settle(300_000);
  expect(scene.outcome()).toBe("password=other db@1, Synced");
});

test("an outage or a failing list is no absence", async () => {
  await using scene = await synced(["db", "extra"]);
  scene.vault().setDown(true);
  await scene.settle(600_000);
  expect(scene.outcome()).toBe(WITH);
});

test("the key of an optional secret is removed at its delete_time, whatever whenRemoved says", async () => {
  await using scene = await synced([], { target: { whenRemoved: "Retain" } });
  scene.vault().lists({ name: "db" }, { name: "extra", deleteAt: scene.clock.now() + 10_000 });
  await scene.settle();
  expect(scene.outcome()).toBe(WITH);
  await scene.settle(10_000);
  lists(scene, ["db"]);
  await scene.settle();
  expect(scene.outcome()).toBe(WITHOUT);
});

test("a target of optional secrets is deleted with the last of them, and created again", async () => {
  await using scene = await synced(["extra"], { data: [DATA[1]] });
  lists(scene, []);
  await scene.settle(300_000);
  expect(scene.outcome()).toBe("absent, Synced");
  expect(scene.condition("Ready")?.message).toBe(
    "the Secret db does not exist, as intended: all its sources are optional, and the vault lists none",
  );
  lists(scene, ["extra"]);
  await scene.settle();
  expect(scene.outcome()).toBe("extra=vault extra@1, Synced");
});

test("an absent optional secret that the type requires is reported", async () => {
  const data = [
    { secretKey: "tls.crt", remoteRef: { key: "db" } },
    { secretKey: "tls.key", remoteRef: { key: "extra" }, optional: true },
  ];
  await using scene = await synced(["db"], { data, target: { type: "kubernetes.io/tls" } });
  expect(scene.outcome()).toBe("absent, SourceMissing");
  expect(scene.condition("Ready")?.message).toContain(
    "requires the keys tls.key, whose sources are absent",
  );
});

test("any other problem of an optional secret is an error", async () => {
  await using scene = await synced(["db", "extra"], {
    data: [DATA[0], { ...DATA[1], remoteRef: { key: "extra", version: 7 } }],
  });
  expect(scene.outcome()).toBe("absent, VersionNotFound");
});

test("removals of optional secrets that disappear together are held", async () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const data = names.map((name) => ({ secretKey: name, remoteRef: { key: name }, optional: true }));
  await using scene = await synced(names, { data });
  lists(scene, ["f"]);
  await scene.settle(600_000);
  expect(Object.keys(scene.target()?.data ?? {})).toEqual(names);
  expect(scene.condition("Ready")?.message).toContain("too many names disappeared together");
});
