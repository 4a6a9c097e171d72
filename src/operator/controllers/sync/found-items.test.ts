import { describe, expect, test } from "vitest";
import { OperatorScene } from "../../../../test/support/kube/operator-scene.ts";
import { SECRETS } from "../../kube/resource.ts";
import type { SecretRecord } from "../../vault-client/connection.ts";

type Listed = Partial<SecretRecord>;

const FIND = [{ find: { name: { regexp: "^shop-" } } }];
const REWRITE = [{ regexp: { source: "^shop-(.*)$", target: "$1" } }];

const named = (...names: readonly string[]): Listed[] => names.map((name) => ({ name }));

/** Starts an operator whose resource finds the secrets that begin with `shop-`, in a vault that lists these. */
async function finding(listed: readonly Listed[], spec: object = { dataFrom: FIND }): Promise<OperatorScene> {
  const scene = await OperatorScene.start();
  scene.vault().lists(...listed);
  scene.follow({}, { data: undefined, ...spec });
  await scene.settle();
  return scene;
}

const withRule = (regexp: string) => ({ data: undefined, dataFrom: [{ find: { name: { regexp } } }] });
const keysOf = (scene: OperatorScene): string[] => Object.keys(scene.target()?.data ?? {}).sort();
const messageOf = (scene: OperatorScene): string | undefined => scene.condition("Ready")?.message;

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
    expect([keysOf(scene), scene.vault().reads]).toEqual([["shop-a", "shop-b"], ["shop-b@1"]]);
  });

  test("is followed into new versions, and costs nothing while nothing changes", async () => {
    await using scene = await finding(named("shop-a", "shop-b"));
    scene.vault().lists({ name: "shop-a", version: 2 }, { name: "shop-b" });
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@2 shop-b=vault shop-b@1, Synced");
    scene.takeRequests();
    scene.vault().reads.length = 0;
    await scene.settle(300_000);
    await scene.restart();
    await scene.settle();
    expect([scene.takeRequests(), scene.vault().reads]).toEqual([[], []]);
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
    expect(scene.outcome()).toBe("host=h password=vault db@1 shop-a=vault shop-a@1 shop-b=vault shop-b@1, Synced");
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
    scene.follow({}, { data: undefined, dataFrom: [{ find: { name: { regexp: "^(web-|shop-a)" } } }] });
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1 web-a=vault web-a@1, Synced");
  });
});

describe("find by metadata", () => {
  const PROD = { dataFrom: [{ find: { metadata: { environment_type: "prod", cloud_type: "aws" } } }] };
  const prod = { environment_type: "prod", cloud_type: "aws" };

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
    scene.vault().lists({ name: "a", metadata: prod, version: 2 }, { name: "b", metadata: {}, version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("a=vault a@2 b=vault b@1, SourceMissing");
    expect(messageOf(scene)).toContain("b no longer has the metadata that dataFrom[0] requests");
  });

  test("drops it immediately with whenMissing: Delete, because the list shows it", async () => {
    await using scene = await finding(
      [
        { name: "a", metadata: prod },
        { name: "b", metadata: prod },
      ],
      {
        ...PROD,
        target: { whenMissing: "Delete" },
      },
    );
    scene.vault().lists({ name: "a", metadata: prod }, { name: "b", metadata: {} });
    await scene.settle();
    expect(keysOf(scene)).toEqual(["a"]);
  });

  test("ignores a received secret that matches where the own one of that name does not", async () => {
    const received = { owner: "dba@example.com", shared: true };
    await using scene = await finding(
      [
        { name: "a", metadata: prod, ...received },
        { name: "b", metadata: prod },
        { name: "b", ...received },
      ],
      PROD,
    );
    expect(scene.outcome()).toBe("a=vault a@1 b=vault b@1, Synced");
  });
});

describe("a match that disappears", () => {
  test("keeps its key and is reported, while the others are followed", async () => {
    await using scene = await finding(named("shop-a", "shop-b"));
    scene.vault().lists({ name: "shop-b", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1 shop-b=vault shop-b@2, SourceMissing");
    expect(messageOf(scene)).toContain("shop-a is not in the list of ops@example.com: check its name, its shares");
    await scene.restart();
    await scene.settle();
    expect(keysOf(scene)).toEqual(["shop-a", "shop-b"]);
  });

  test("keeps its key although the status cannot show it", async () => {
    const names = Array.from({ length: 80 }, (_, at) => `shop-${String(at).padStart(2, "0")}`);
    await using scene = await finding(named(...names));
    scene.vault().lists(...named(...names.slice(0, 79)));
    await scene.settle();
    expect([keysOf(scene), scene.condition("Ready")?.reason]).toEqual([names, "SourceMissing"]);
    expect(scene.status().items?.[0]).toEqual({ secretKey: "shop-79", key: "shop-79", version: 1 });
    expect(scene.status().itemsOmitted).toBe(16);
  });

  test("loses its key at its delete_time", async () => {
    await using scene = await finding([{ name: "shop-a" }]);
    scene.vault().lists({ name: "shop-a", deleteAt: scene.clock.now() + 20_000 }, { name: "shop-b" });
    await scene.settle(20_000);
    scene.vault().lists(...named("shop-b"));
    await scene.settle();
    expect(scene.outcome()).toBe("shop-b=vault shop-b@1, SourceRemoved");
    // Found by the simulation: a restart changed the status, because nothing remembers a name whose key is gone.
    await scene.settle(30_000);
    expect(scene.outcome()).toBe("shop-b=vault shop-b@1, Synced");
  });

  test("loses its key with whenMissing: Delete on proof, also after a restart in between", async () => {
    await using scene = await finding(named("shop-a", "shop-b"), { dataFrom: FIND, target: { whenMissing: "Delete" } });
    scene.vault().lists(...named("shop-b"));
    await scene.settle();
    await scene.restart();
    await scene.settle();
    expect(keysOf(scene)).toEqual(["shop-a", "shop-b"]);
    await scene.settle(300_000);
    expect(scene.outcome()).toBe("shop-b=vault shop-b@1, Synced");
  });

  test("is held with many others, whose share is that of all names that were found", async () => {
    const names = Array.from({ length: 20 }, (_, at) => `shop-${String(at).padStart(2, "0")}`);
    await using scene = await finding(named(...names), { dataFrom: FIND, target: { whenMissing: "Delete" } });
    scene.vault().lists(...named(...names.slice(0, 16)));
    await scene.settle(300_000);
    expect(keysOf(scene)).toEqual(names.slice(0, 16));
    scene.vault().lists(...named(...names.slice(0, 11)));
    await scene.settle(300_000);
    expect(keysOf(scene)).toEqual(names.slice(0, 16));
    expect(messageOf(scene)).toContain("too many names disappeared together");
  });

  test("leaves its key to another secret that rewrite gives the same one", async () => {
    await using scene = await finding(named("shop-a", "shop-b"), {
      dataFrom: [{ find: { name: { regexp: "^shop-?" } }, rewrite: [{ regexp: { source: "^shop-?", target: "" } }] }],
    });
    scene.vault().lists(...named("shopa", "shop-b"));
    await scene.settle();
    expect(scene.outcome()).toBe("a=vault shopa@1 b=vault shop-b@1, Synced");
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
    expect([scene.outcome(), scene.vault().reads]).toEqual(["shop-a=vault shop-a@1, Synced", ["shop-a@1"]]);
  });

  // Found by the simulation: a rule that changed while the target could not be written dropped the key of a missing secret.
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

describe("names that make no key of their own are InvalidKey", () => {
  test.each([
    ["a name that is no valid key", named("shop-a", "shop-b c"), {}, 'dataFrom[0] finds "shop-b c", which is not a valid key'],
    [
      "a rewritten name that is no valid key",
      named("shop-/"),
      { rewrite: REWRITE },
      'dataFrom[0] finds "shop-/", whose key "/" is not a valid key',
    ],
    [
      "two names with one key",
      named("shop-a", "shop-b"),
      { rewrite: [{ regexp: { source: "[ab]$", target: "x" } }] },
      'dataFrom[0] finds "shop-b", but the key shop-x is that of "shop-a"',
    ],
  ])("%s", async (_, listed, rule, message) => {
    await using scene = await finding(listed, { dataFrom: [{ ...FIND[0], ...rule }] });
    expect(scene.outcome()).toBe("absent, InvalidKey");
    expect(messageOf(scene)).toContain(message);
  });

  test("a name with the key of data, and the target is kept", async () => {
    await using scene = await finding(named("shop-a", "db"), {
      data: [{ secretKey: "shop-b", remoteRef: { key: "db" } }],
      dataFrom: FIND,
    });
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1 shop-b=vault db@1, Synced");
    scene.vault().lists(...named("shop-a", "shop-b", "db"));
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1 shop-b=vault db@1, InvalidKey");
  });

  test("the same name found by two rules is no problem", async () => {
    await using scene = await finding(named("shop-a"), { dataFrom: [...FIND, { find: { name: { regexp: "-a$" } } }] });
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1, Synced");
  });

  test("names that are too long for the annotations of one object are TooLarge", async () => {
    const long = Array.from({ length: 400 }, (_, at) => `shop-${at}-${"x".repeat(220)}`);
    await using scene = await finding(named(...long));
    expect(scene.outcome()).toBe("absent, TooLarge");
  });
});

const received = (owner: string): Listed => ({ name: "shop-a", owner, shared: true });

test("find takes an own secret before a received one, and several received ones are ambiguous", async () => {
  await using scene = await finding([{ name: "shop-a" }, received("x@example.com")]);
  expect(scene.outcome()).toBe("shop-a=vault shop-a@1, Synced");
  scene.follow({}, { data: undefined, dataFrom: FIND, name: "other" });
  scene.vault().lists(received("x@example.com"), received("y@example.com"));
  await scene.settle();
  expect(scene.outcome("other")).toBe("absent, AmbiguousName");
});
