import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { vaultConnectionKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";
import { CONFIRM_REMOVALS_ANNOTATION } from "../../src/operator/api/names.ts";

const MINUTE = 60_000;
/** Long enough for three lists over two intervals, and a little more. */
const PROOF = 4 * MINUTE;
const DELETE = { whenMissing: "Delete" };

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);
const namesOf = (namespace: string): string[] => range(4).map((n) => `${namespace}-${n}`);
/** Namespaces that use the vault of the first one. */
const teams = range(10).map((n) => `team-${n}`);
const allNames = teams.flatMap(namesOf);

const left = (scene: SimulatedWorld, namespaces: readonly string[] = teams): number =>
  namespaces.flatMap((one) => namesOf(one).filter((name) => scene.value(one, name) !== undefined))
    .length;
const heldIn = (scene: SimulatedWorld): string[] =>
  teams.filter(
    (one) =>
      scene.connectionCondition("RemovalsHeld", one)?.message?.includes("confirm-removals=4") ===
      true,
  );

function confirm(scene: SimulatedWorld, namespace: string, number: string): void {
  const metadata = { annotations: { [CONFIRM_REMOVALS_ANNOTATION]: number } };
  scene.server.patch(vaultConnectionKind, { namespace, name: "vault" }, { metadata });
}

/** Starts an operator of ten namespaces with a connection to the same vault and four names each. */
async function shared(
  scene: SimulatedWorld,
  intervalOf: (team: string) => string = () => "60s",
): Promise<void> {
  for (const team of teams) {
    scene.addVault(team, namesOf(team), DELETE, {
      of: "team-0",
      refreshInterval: intervalOf(team),
    });
  }
  scene.start();
  await scene.clock.advance(MINUTE);
  expect(left(scene)).toBe(40);
}

describe("names that another vault of the connection lacks", () => {
  test("are held until a user confirms them, also when specs change and the first vault is back", async () => {
    await using scene = new SimulatedWorld();
    const all = range(10).map((n) => `db-${n}`);
    scene.addVault("shop", all, DELETE);
    scene.addVault("other", all.slice(0, 2));
    scene.start();
    await scene.clock.advance(MINUTE);
    const [first, second] = ["shop", "other"].map((namespace) =>
      scene.server.get(vaultConnectionKind, { namespace, name: "vault" }),
    );
    const moveTo = (connection: typeof first): void => {
      const { url } = connection!["spec"] as { readonly url: string };
      scene.server.patch(
        vaultConnectionKind,
        { namespace: "shop", name: "vault" },
        { spec: { url } },
      );
    };
    const kept = (): number =>
      all.slice(0, 8).filter((name) => scene.value("shop", name) !== undefined).length;
    moveTo(second);
    await scene.clock.advance(PROOF);
    for (const name of all.slice(8))
      scene.server.delete(vaultSecretKind, { namespace: "shop", name });
    await scene.clock.advance(PROOF);
    expect(kept()).toBe(8);
    expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=6");
    scene.vault("shop").remove(...all);
    moveTo(first);
    await scene.clock.advance(PROOF);
    expect(kept()).toBe(8);
    confirm(scene, "shop", "8");
    await scene.clock.advance(MINUTE);
    expect(kept()).toBe(0);
  });
});

describe("names that disappear from one vault, of which each connection has four", () => {
  test("are held in each connection, which confirms its own", async () => {
    await using scene = new SimulatedWorld();
    await shared(scene);
    scene.vault("team-0").remove(...allNames);
    await scene.clock.advance(10 * MINUTE);
    expect(left(scene)).toBe(40);
    expect(heldIn(scene)).toEqual(teams);
    confirm(scene, "team-3", "40");
    confirm(scene, "team-4", "4");
    await scene.clock.advance(MINUTE);
    expect(left(scene, ["team-3"])).toBe(4);
    expect(left(scene, ["team-4"])).toBe(0);
    expect(left(scene)).toBe(36);
  });

  test("are removed if they are 20 % of the vault's, and held if they are more", async () => {
    await using scene = new SimulatedWorld();
    await shared(scene);
    scene.vault("team-0").remove(...allNames.slice(0, 8));
    await scene.clock.advance(PROOF);
    expect(left(scene)).toBe(32);
    scene.vault("team-0").remove(...allNames.slice(8, 17));
    await scene.clock.advance(PROOF);
    expect(left(scene)).toBe(32);
  });

  test("are held before the fastest connection removes any, however long another interval is", async () => {
    await using scene = new SimulatedWorld();
    await shared(scene, (team) => (team === "team-0" ? "5s" : "2h"));
    scene.vault("team-0").remove(...allNames);
    await scene.clock.advance(10 * MINUTE);
    expect(left(scene)).toBe(40);
    expect(heldIn(scene)).toContain("team-0");
    await scene.clock.advance(5 * 60 * MINUTE);
    expect(left(scene)).toBe(40);
    expect(heldIn(scene)).toEqual(teams);
  });

  test("stay held after a restart and an edit, although most of them are confirmed", async () => {
    await using scene = new SimulatedWorld();
    await shared(scene);
    scene.vault("team-0").remove(...allNames);
    await scene.clock.advance(PROOF);
    for (const team of teams.slice(1)) confirm(scene, team, "4");
    await scene.clock.advance(MINUTE);
    expect(left(scene)).toBe(4);
    await scene.restart();
    await scene.clock.advance(PROOF);
    expect(left(scene)).toBe(4);
    expect(heldIn(scene)).toEqual(["team-0"]);
    scene.server.patch(
      vaultConnectionKind,
      { namespace: "team-0", name: "vault" },
      { spec: { timeout: "11s" } },
    );
    await scene.clock.advance(PROOF);
    expect(left(scene)).toBe(4);
    expect(heldIn(scene)).toEqual(["team-0"]);
  });

  test("stay held while the connection cannot be opened, and after that", async () => {
    await using scene = new SimulatedWorld();
    await shared(scene);
    scene.vault("team-0").remove(...allNames);
    await scene.clock.advance(PROOF);
    for (const team of teams.slice(1)) confirm(scene, team, "4");
    await scene.clock.advance(MINUTE);
    const setUrl = (url: string): unknown =>
      scene.server.patch(
        vaultConnectionKind,
        { namespace: "team-0", name: "vault" },
        { spec: { url } },
      );
    setUrl("https://team-0.example.com/v1");
    await scene.clock.advance(MINUTE);
    expect(scene.connectionCondition("Ready", "team-0")?.reason).toBe("InvalidSpec");
    expect(heldIn(scene)).toEqual(["team-0"]);
    setUrl("https://team-0.example.com");
    await scene.clock.advance(PROOF);
    expect(left(scene)).toBe(4);
    expect(heldIn(scene)).toEqual(["team-0"]);
    confirm(scene, "team-0", "4");
    await scene.clock.advance(MINUTE);
    expect(left(scene)).toBe(0);
    expect(heldIn(scene)).toEqual([]);
  });

  test("are held if they disappear while no operator runs", async () => {
    await using scene = new SimulatedWorld();
    await shared(scene);
    await scene.restart(() => scene.vault("team-0").remove(...allNames));
    await scene.clock.advance(PROOF);
    expect(left(scene)).toBe(40);
    expect(heldIn(scene)).toEqual(teams);
  });

  test.each([
    ["is stale", "60s", 1, 4],
    ["has a long interval", "2h", 10, 15],
  ])(
    "are removed if they are few, although another connection fails and %s",
    async (_, refreshInterval, keptFor, removedAfter) => {
      await using scene = new SimulatedWorld();
      await shared(scene);
      scene.addVault("broken", [], {}, { of: "team-0", refreshInterval });
      scene.server.delete(SECRETS, { namespace: "broken", name: "login" });
      await scene.clock.advance(5 * MINUTE);
      expect(scene.connectionCondition("Ready", "broken")).toMatchObject({ status: "False" });
      scene.vault("team-0").remove("team-0-0");
      await scene.clock.advance(keptFor * MINUTE);
      expect(left(scene)).toBe(40);
      await scene.clock.advance((removedAfter - keptFor) * MINUTE);
      expect(left(scene)).toBe(39);
    },
  );
});

test("a hold follows resources whose policy becomes Delete or Retain while it lasts", async () => {
  await using scene = new SimulatedWorld();
  const names = range(6).map((n) => `name-${n}`);
  const vault = scene.addVault("shop", names.slice(1), DELETE);
  vault.write("name-0");
  scene.addSecret("shop", "name-0", {}, "name-0");
  scene.start();
  await scene.clock.advance(MINUTE);
  vault.remove(...names);
  await scene.clock.advance(MINUTE);
  const edit = async (
    chosen: readonly string[],
    whenMissing: string,
  ): Promise<string | undefined> => {
    for (const name of chosen)
      scene.server.patch(
        vaultSecretKind,
        { namespace: "shop", name },
        { spec: { target: { whenMissing } } },
      );
    await scene.clock.advance(PROOF);
    expect(names.filter((name) => scene.value("shop", name) === undefined)).toEqual([]);
    return /confirm-removals=(?<held>\d)/u.exec(
      scene.connectionCondition("RemovalsHeld")?.message ?? "",
    )?.groups?.["held"];
  };
  expect(await edit([], "Delete")).toBe("5");
  expect(await edit(["name-0"], "Delete")).toBe("6");
  expect(await edit(names, "Retain")).toBeUndefined();
  expect(await edit(["name-3"], "Delete")).toBe("1");
});

test("a single name that feeds many targets is held with all of them", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["other", "ca"], DELETE);
  const names = range(20).map((n) => `app-${n}`);
  for (const name of names) scene.addSecret("shop", name, DELETE, "ca");
  scene.start();
  await scene.clock.advance(MINUTE);
  vault.remove("ca");
  await scene.clock.advance(10 * MINUTE);
  expect(names.filter((name) => scene.value("shop", name) !== undefined)).toEqual(names);
  expect(scene.connectionCondition("RemovalsHeld")?.message).toContain(
    "vaultsync.dev/confirm-removals=1",
  );
  confirm(scene, "shop", "1");
  await scene.clock.advance(MINUTE);
  expect(names.filter((name) => scene.value("shop", name) !== undefined)).toEqual([]);
});

test("a confirmation of another number confirms no later loss of as many names", async () => {
  await using scene = new SimulatedWorld();
  const names = range(6).map((n) => `name-${n}`);
  const vault = scene.addVault("shop", names, DELETE);
  scene.start();
  await scene.clock.advance(MINUTE);
  confirm(scene, "shop", "6");
  await scene.clock.advance(MINUTE);
  vault.remove(...names);
  await scene.clock.advance(10 * MINUTE);
  expect(scene.connectionCondition("RemovalsHeld")?.message).toContain(
    "vaultsync.dev/confirm-removals=6",
  );
  confirm(scene, "shop", "5");
  await scene.clock.advance(MINUTE);
  vault.write("name-0");
  await scene.clock.advance(10 * MINUTE);
  expect(scene.connectionCondition("RemovalsHeld")?.message).toContain(
    "vaultsync.dev/confirm-removals=5",
  );
  expect(names.filter((name) => scene.value("shop", name) === undefined)).toEqual([]);
  confirm(scene, "shop", "5");
  await scene.clock.advance(MINUTE);
  expect(names.filter((name) => scene.value("shop", name) !== undefined)).toEqual(["name-0"]);
});

/** Returns the notes of the events about confirmations that confirmed nothing. */
const unconfirmed = (scene: SimulatedWorld): string[] =>
  scene.events
    .filter(({ reason, action }) => reason === "RemovalsNotConfirmed" && action === "Confirm")
    .map(({ note }) => note.replace(/^.*, and was removed: /u, ""));

test("a confirmation of 0 confirms nothing, not even what is not proven yet", async () => {
  await using scene = new SimulatedWorld();
  const names = range(6).map((n) => `name-${n}`);
  const vault = scene.addVault("shop", names, DELETE);
  scene.start();
  await scene.clock.advance(MINUTE);
  vault.remove(...names.slice(0, 4));
  await scene.clock.advance(MINUTE / 2);
  confirm(scene, "shop", "0");
  await scene.clock.advance(1_000);
  expect(unconfirmed(scene)).toEqual(["no removals are held"]);
  vault.remove("name-4");
  await scene.clock.advance(10 * MINUTE);
  expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=5");
});

test("a confirmation confirms nothing if a further name disappears before it is processed", async () => {
  await using scene = new SimulatedWorld();
  const names = range(7).map((n) => `name-${n}`);
  const vault = scene.addVault("shop", names, DELETE, { refreshInterval: "5s" });
  scene.start();
  await scene.clock.advance(MINUTE);
  vault.remove(...names.slice(0, 6));
  await scene.clock.advance(10 * MINUTE);
  scene.network = {
    send: async ({ verb, resource, signal }) => {
      if (verb !== "patch" || resource.kind !== "VaultConnection") return;
      vault.remove("name-6");
      await scene.clock.sleep(10_000, signal);
    },
  };
  confirm(scene, "shop", "6");
  await scene.clock.advance(10 * MINUTE);
  expect(unconfirmed(scene)).toEqual([
    "7 removals are held: look at them, and confirm this number",
  ]);
  expect(names.filter((name) => scene.value("shop", name) === undefined)).toEqual([]);
});

test("a confirmation waits for the first list of an operator that starts", async () => {
  await using scene = new SimulatedWorld();
  const names = range(6).map((n) => `name-${n}`);
  const vault = scene.addVault("shop", names, DELETE);
  scene.start();
  await scene.clock.advance(MINUTE);
  vault.remove(...names);
  await scene.clock.advance(10 * MINUTE);
  await scene.restart(() => {
    vault.setDown(true);
    confirm(scene, "shop", "6");
  });
  await scene.clock.advance(10 * MINUTE);
  expect(names.filter((name) => scene.value("shop", name) === undefined)).toEqual([]);
  vault.setDown(false);
  await scene.clock.advance(10 * MINUTE);
  expect(unconfirmed(scene)).toEqual([]);
  expect(names.filter((name) => scene.value("shop", name) !== undefined)).toEqual([]);
});

test("names whose targets stay need no confirmation, but count for those whose targets would not", async () => {
  await using scene = new SimulatedWorld();
  const kept = range(8).map((n) => `kept-${n}`);
  const vault = scene.addVault("shop", [...kept, "other"], {});
  vault.write("db");
  scene.addSecret("shop", "db", DELETE, "db");
  scene.start();
  await scene.clock.advance(MINUTE);
  vault.remove(...kept);
  // No list proves their absence before one lacks the next name.
  await scene.clock.advance(MINUTE / 2);
  expect(scene.connectionCondition("RemovalsHeld")).toBeUndefined();
  vault.remove("db");
  await scene.clock.advance(10 * MINUTE);
  expect(scene.value("shop", "db")).toBe("db@1");
  expect(scene.value("shop", "kept-0")).toBe("kept-0@1");
  expect(scene.connectionCondition("RemovalsHeld")?.message).toContain(
    "vaultsync.dev/confirm-removals=1",
  );
});

test("a name that feeds few of many targets loses them without a confirmation", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault(
    "shop",
    range(21).map((n) => `db-${n}`),
    DELETE,
  );
  for (const n of range(4)) scene.addSecret("shop", `app-${n}`, DELETE, "db-0");
  scene.start();
  await scene.clock.advance(MINUTE);
  vault.remove("db-0");
  await scene.clock.advance(PROOF);
  expect(scene.value("shop", "db-0")).toBeUndefined();
  expect(scene.value("shop", "app-3")).toBeUndefined();
  expect(scene.value("shop", "db-1")).toBe("db-1@1");
});
