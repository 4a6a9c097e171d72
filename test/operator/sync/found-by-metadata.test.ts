import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";

type Listed = Partial<SecretRecord>;

const FIND = [{ find: { name: { regexp: "^shop-" } } }];

const named = (...names: readonly string[]): Listed[] => names.map((name) => ({ name }));

/**
 * Starts an operator whose resource finds the secrets that begin with `shop-`, in a vault that
 * lists these.
 */
const finding = (
  listed: readonly Listed[],
  spec: object = { dataFrom: FIND },
): Promise<SimulatedWorld> => SimulatedWorld.following(listed, {}, { data: undefined, ...spec });

const stage = { environment_type: "stage", cloud_type: "gcp" };
/**
 * Returns a spec whose rule requests this metadata and that removes what the rule does not find any
 * more.
 */
const ruleOf = (metadata: object, find: object = {}) => ({
  data: undefined,
  target: { whenMissing: "Delete" },
  dataFrom: [{ find: { ...find, metadata } }],
});
const keysOf = (scene: SimulatedWorld): string[] => Object.keys(scene.target()?.data ?? {}).sort();
const messageOf = (scene: SimulatedWorld): string | undefined => scene.condition("Ready")?.message;

describe("find by metadata", () => {
  const PROD = {
    dataFrom: [{ find: { metadata: { environment_type: "prod", cloud_type: "gcp" } } }],
  };
  const prod = { environment_type: "prod", cloud_type: "gcp" };
  const DELETING = { ...PROD, target: { whenMissing: "Delete" } };
  const prodSecrets = (...names: readonly string[]): Listed[] =>
    names.map((name) => ({ name, metadata: prod }));

  test("requires all values, and no name", async () => {
    await using scene = await finding(
      [
        { name: "a", metadata: prod },
        { name: "b", metadata: { environment_type: "prod" } },
        { name: "c", metadata: { ...prod, environment_type: "stage" } },
        { name: "d", metadata: { ...prod, classification: "top" } },
      ],
      PROD,
    );
    expect(keysOf(scene)).toEqual(["a", "d"]);
  });

  test("keeps a secret whose metadata no longer matches, and reports it", async () => {
    await using scene = await finding(
      [
        { name: "a", metadata: prod },
        { name: "b", metadata: prod },
      ],
      PROD,
    );
    scene
      .vault()
      .lists({ name: "a", metadata: prod, version: 2 }, { name: "b", metadata: {}, version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("a=vault a@2 b=vault b@1, SourceMissing");
    expect(messageOf(scene)).toContain("b no longer has the metadata that dataFrom[0] requests");
  });

  test("drops it with whenMissing: Delete on proof, which begins again after a restart", async () => {
    await using scene = await finding(prodSecrets("a", "b"), DELETING);
    scene.vault().lists(...prodSecrets("a"), ...named("b"));
    await scene.settle(130_000);
    expect(keysOf(scene)).toEqual(["a", "b"]);
    await scene.replace();
    await scene.settle(110_000);
    expect(keysOf(scene)).toEqual(["a", "b"]);
    await scene.settle(120_000);
    expect(scene.outcome()).toBe("a=vault a@1, Synced");
  });

  test("keeps a secret with whenMissing: Delete if a list has its metadata again", async () => {
    await using scene = await finding(prodSecrets("a", "b"), DELETING);
    for (let round = 0; round < 4; round += 1) {
      scene.vault().lists(...prodSecrets("a"), ...named("b"));
      await scene.settle(110_000);
      scene.vault().lists(...prodSecrets("a", "b"));
      await scene.settle(60_000);
    }
    expect(scene.outcome()).toBe("a=vault a@1 b=vault b@1, Synced");
  });

  test("holds many secrets whose metadata changes together, also after a restart", async () => {
    const names = Array.from({ length: 20 }, (_, at) => `s${10 + at}`);
    await using scene = await finding(prodSecrets(...names), DELETING);
    scene.vault().lists(...named(...names));
    await scene.settle(300_000);
    expect(keysOf(scene)).toEqual(names);
    expect(messageOf(scene)).toEqual(
      expect.stringContaining("too many names disappeared together"),
    );
    await scene.replace();
    await scene.settle(300_000);
    expect(keysOf(scene)).toEqual(names);
    expect(messageOf(scene)).toEqual(
      expect.stringContaining("too many names disappeared together"),
    );
  });

  test("holds many secrets that lose their metadata while no operator runs", async () => {
    const names = Array.from({ length: 80 }, (_, at) => `s${10 + at}`);
    await using scene = await finding(prodSecrets(...names), DELETING);
    await scene.stop();
    scene.vault().lists(...named(...names));
    await scene.replace();
    await scene.settle(300_000);
    expect(keysOf(scene)).toEqual(names);
  });

  test.each<[string, object]>([
    ["metadata", {}],
    ["metadata and regular expression", { name: { regexp: "^s" } }],
  ])("drops immediately what a rule whose %s changed does not find", async (_, find) => {
    const names = Array.from({ length: 20 }, (__, at) => `s${10 + at}`);
    await using scene = await finding(
      [...prodSecrets(...names), { name: "s30", metadata: stage }],
      DELETING,
    );
    scene.follow({}, ruleOf(stage, find));
    await scene.settle();
    expect(scene.outcome()).toBe("s30=vault s30@1, Synced");
    // The names that the user dropped are none that disappeared.
    scene.vault().lists(...named(...names));
    await scene.settle(300_000);
    expect(scene.outcome()).toBe("absent, SourceMissing");
  });

  test("keeps a secret whose metadata changed when its rule changes in anything else", async () => {
    await using scene = await finding(prodSecrets("a", "b"), DELETING);
    scene.vault().lists(...prodSecrets("a"), ...named("b"));
    await scene.settle();
    scene.follow({}, ruleOf(prod, { name: { regexp: "^[ab]$" } }));
    await scene.settle();
    expect(keysOf(scene)).toEqual(["a", "b"]);
    await scene.settle(300_000);
    expect(keysOf(scene)).toEqual(["a"]);
  });

  test("begins the proof of a secret that another connection lists without its metadata", async () => {
    await using scene = await finding(prodSecrets("a", "b"), DELETING);
    scene.put(
      vaultSecretKind,
      { namespace: "shop", name: "all" },
      {
        connectionRef: { name: "again" },
        dataFrom: [{ find: { name: { regexp: "" } } }],
      },
    );
    scene.vault("again").lists(...prodSecrets("a"), ...named("b"));
    scene.connect("again");
    await scene.settle();
    scene.follow({}, { ...ruleOf(prod), connection: "again" });
    await scene.settle();
    expect(keysOf(scene)).toEqual(["a", "b"]);
    await scene.settle(300_000);
    expect(keysOf(scene)).toEqual(["a"]);
  });

  test.each<[string, object, object, string]>([
    ["the own secret where the received one does not match", { metadata: prod }, {}, "b@1"],
    ["the received secret where the own one does not match", {}, { metadata: prod }, "b@3"],
    ["the own secret where both match", { metadata: prod }, { metadata: prod }, "b@1"],
  ])("takes %s", async (_, own, other, found) => {
    const received = { owner: "dba@example.com", shared: true };
    await using scene = await finding([], PROD);
    scene.connect("vault", { trustedOwners: ["dba@example.com"] });
    scene
      .vault()
      .lists(
        { name: "a", metadata: prod, ...received },
        { name: "b", ...own },
        { name: "b", version: 3, ...other, ...received },
      );
    await scene.settle();
    expect(scene.outcome()).toBe(`a=vault a@1 b=vault ${found}, Synced`);
  });
});
