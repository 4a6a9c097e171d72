import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
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

const withRule = (regexp: string) => ({
  data: undefined,
  dataFrom: [{ find: { name: { regexp } } }],
});
const keysOf = (scene: SimulatedWorld): string[] => Object.keys(scene.target()?.data ?? {}).sort();
const messageOf = (scene: SimulatedWorld): string | undefined => scene.condition("Ready")?.message;

describe("find", () => {
  test("makes a key of each secret that matches, and reads no other", async () => {
    await using scene = await finding(named("shop-a", "other", "shop-b", "my-shop-c"));
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1 shop-b=vault shop-b@1, Synced");
    expect([...scene.vault().reads].sort()).toEqual(["shop-a@1", "shop-b@1"]);
    expect(scene.status().items).toMatchObject([
      { secretKey: "shop-a", key: "shop-a", version: 1 },
      { secretKey: "shop-b", key: "shop-b", version: 1 },
    ]);
  });

  test("takes in a new match with the next list, and reads only that", async () => {
    await using scene = await finding(named("shop-a"));
    scene.vault().reads.length = 0;
    scene.vault().lists(...named("shop-a", "shop-b", "other"));
    await scene.settle();
    expect(keysOf(scene)).toEqual(["shop-a", "shop-b"]);
    expect(scene.vault().reads).toEqual(["shop-b@1"]);
  });

  test("is followed into new versions, and costs nothing while nothing changes", async () => {
    await using scene = await finding(named("shop-a", "shop-b"));
    scene.vault().lists({ name: "shop-a", version: 2 }, { name: "shop-b" });
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@2 shop-b=vault shop-b@1, Synced");
    scene.takeRequests();
    scene.vault().reads.length = 0;
    await scene.settle(300_000);
    await scene.replace();
    await scene.settle();
    expect(scene.takeRequests()).toEqual([]);
    expect(scene.vault().reads).toEqual([]);
  });

  test("adds its keys to those of data and of an extracted object", async () => {
    await using scene = await finding([], {});
    scene.vault().expose = (name) => (name === "config" ? { value: '{"host": "h"}' } : {});
    scene.vault().lists(...named("shop-a", "config", "db"));
    scene.follow({ password: "db" }, { dataFrom: [...FIND, { extract: { key: "config" } }] });
    await scene.settle();
    expect(scene.outcome()).toBe("host=h password=vault db@1 shop-a=vault shop-a@1, Synced");
    scene.vault().lists(...named("shop-a", "shop-b", "config", "db"));
    await scene.settle();
    expect(scene.outcome()).toBe(
      "host=h password=vault db@1 shop-a=vault shop-a@1 shop-b=vault shop-b@1, Synced",
    );
  });

  test("without a match creates no target and names the rule", async () => {
    await using scene = await finding(named("other"));
    expect(scene.outcome()).toBe("absent, SourceMissing");
    expect(messageOf(scene)).toContain("dataFrom[0] finds no entry in the vault's list");
    scene.vault().lists(...named("shop-a"));
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1, Synced");
  });

  test("that changes drops what only the former rule found", async () => {
    await using scene = await finding(named("shop-a", "shop-b", "web-a"));
    scene.follow(
      {},
      { data: undefined, dataFrom: [{ find: { name: { regexp: "^(web-|shop-a)" } } }] },
    );
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1 web-a=vault web-a@1, Synced");
  });
});

describe("a match that disappears", () => {
  test("keeps its key and is reported, while the others are followed", async () => {
    await using scene = await finding(named("shop-a", "shop-b"));
    scene.vault().lists({ name: "shop-b", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1 shop-b=vault shop-b@2, SourceMissing");
    expect(messageOf(scene)).toContain(
      "shop-a is not in the list of ops@example.com: check its name, its shares",
    );
    await scene.replace();
    await scene.settle();
    expect(keysOf(scene)).toEqual(["shop-a", "shop-b"]);
  });

  test("keeps its key although the status cannot show it", async () => {
    const names = Array.from({ length: 80 }, (_, at) => `shop-${String(at).padStart(2, "0")}`);
    await using scene = await finding(named(...names));
    scene.vault().lists(...named(...names.slice(0, 79)));
    await scene.settle();
    expect(keysOf(scene)).toEqual(names);
    expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
    expect(scene.status().items?.[0]).toEqual({ secretKey: "shop-79", key: "shop-79", version: 1 });
    expect(scene.status().itemsOmitted).toBe(16);
  });

  test("loses its key at its delete_time", async () => {
    await using scene = await finding([{ name: "shop-a" }]);
    scene
      .vault()
      .lists({ name: "shop-a", deleteAt: scene.clock.now() + 20_000 }, { name: "shop-b" });
    await scene.settle(20_000);
    scene.vault().lists(...named("shop-b"));
    await scene.settle();
    expect(scene.outcome()).toBe("shop-b=vault shop-b@1, SourceRemoved");
    // Found by the simulation: a restart changed the status, because nothing remembers a name whose
    // key is gone.
    await scene.settle(30_000);
    expect(scene.outcome()).toBe("shop-b=vault shop-b@1, Synced");
  });

  test("loses its key with whenMissing: Delete on proof, also after a restart in between", async () => {
    await using scene = await finding(named("shop-a", "shop-b"), {
      dataFrom: FIND,
      target: { whenMissing: "Delete" },
    });
    scene.vault().lists(...named("shop-b"));
    await scene.settle();
    await scene.replace();
    await scene.settle();
    expect(keysOf(scene)).toEqual(["shop-a", "shop-b"]);
    await scene.settle(300_000);
    expect(scene.outcome()).toBe("shop-b=vault shop-b@1, Synced");
  });

  test("loses its key although neither the status nor the list of a new connection has it", async () => {
    const names = Array.from({ length: 80 }, (_, at) => `shop-${String(at).padStart(2, "0")}`);
    const spec = { dataFrom: FIND, target: { whenMissing: "Delete" } };
    await using scene = await finding(named(...names), spec);
    expect(JSON.stringify(scene.status().items)).not.toContain("shop-79");
    scene.vault("again").lists(...named(...names.slice(0, 79)));
    scene.connect("again");
    scene.follow({}, { data: undefined, ...spec, connection: "again" });
    await scene.settle();
    expect(keysOf(scene)).toEqual(names);
    await scene.settle(300_000);
    expect(keysOf(scene)).toEqual(names.slice(0, 79));
  });

  test("is held with many others, whose share is that of all names that were found", async () => {
    const names = Array.from({ length: 20 }, (_, at) => `shop-${String(at).padStart(2, "0")}`);
    await using scene = await finding(named(...names), {
      dataFrom: FIND,
      target: { whenMissing: "Delete" },
    });
    scene.vault().lists(...named(...names.slice(0, 16)));
    await scene.settle(300_000);
    expect(keysOf(scene)).toEqual(names.slice(0, 16));
    scene.vault().lists(...named(...names.slice(0, 11)));
    await scene.settle(300_000);
    expect(keysOf(scene)).toEqual(names.slice(0, 16));
    expect(messageOf(scene)).toContain("too many names disappeared together");
  });

  test("is still known when a tool drops the annotations of the target", async () => {
    await using scene = await finding(named("shop-a", "shop-b"));
    scene.vault().lists(...named("shop-a"));
    await scene.settle();
    const annotations = Object.fromEntries(
      Object.keys(scene.target()?.metadata.annotations ?? {}).map((name) => [name, null]),
    );
    scene.server.patch(SECRETS, { namespace: "shop", name: "db" }, { metadata: { annotations } });
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1 shop-b=vault shop-b@1, SourceMissing");
    scene.vault().lists({ name: "shop-a", version: 2 });
    await scene.settle();
    await scene.replace();
    expect(keysOf(scene)).toEqual(["shop-a", "shop-b"]);
  });

  test("stays unknown to an edited annotation: no rule reads what it does not match", async () => {
    await using scene = await finding(named("shop-a", "root"));
    const sources = scene.target()?.metadata.annotations?.["vaultsync.dev/sources"] ?? "";
    scene.vault().reads.length = 0;
    const edited = sources.replaceAll("shop-a", "root");
    scene.server.patch(
      SECRETS,
      { namespace: "shop", name: "db" },
      { metadata: { annotations: { "vaultsync.dev/sources": edited } } },
    );
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1, Synced");
    expect(scene.vault().reads).toEqual(["shop-a@1"]);
  });

  // Found by the simulation: a rule that changed while the target could not be written dropped the
  // key of a missing secret.
  test("keeps its key under a changed rule if that matches its name", async () => {
    await using scene = await finding(named("shop-a", "shop-b"));
    scene.vault().lists(...named("shop-b"));
    scene.follow({}, withRule("^shop-[ab]$"));
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1 shop-b=vault shop-b@1, SourceMissing");
    scene.follow({}, withRule("-b$"));
    await scene.settle();
    expect(scene.outcome()).toBe("shop-b=vault shop-b@1, Synced");
  });
});

const stage = { environment_type: "stage", cloud_type: "gcp" };
/** Returns a spec that removes what its rule for this metadata no longer finds. */
const ruleOf = (metadata: object, find: object = {}) => ({
  data: undefined,
  target: { whenMissing: "Delete" },
  dataFrom: [{ find: { ...find, metadata } }],
});

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
    const owner = "dba@example.com";
    await using scene = await finding([], PROD);
    scene.connect("vault", { trustedOwners: [owner] });
    scene
      .vault()
      .lists({ name: "b", ...own }, { name: "b", owner, shared: true, version: 3, ...other });
    await scene.settle();
    expect(scene.outcome()).toBe(`b=vault ${found}, Synced`);
  });
});
