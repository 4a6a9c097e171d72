import { describe, expect, test } from "vitest";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { data, remove, synced } from "../../lab/kube/removed-sources.ts";
import { valuesOf } from "../../lab/simulated/simulated-operator.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Longer than it takes to prove the absence of a secret. */
const PROOF = 4 * MINUTE;

type Spec = Readonly<Record<string, unknown>>;

const BEFORE = { password: "db", other: "api" };
const RENAMED = { secret: "db", other: "api" };
const KEPT = "other=api@1 password=db@1, SourceMissing";

/** The same keys, of which the first is optional. */
const withOptional = (secretKey: string) => [
  { secretKey, remoteRef: { key: "db" }, optional: true },
  { secretKey: "other", remoteRef: { key: "api" } },
];

/** Starts an operator that has synced two secrets with the target `db`. */
async function withTarget(spec: Spec = {}): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  scene.vault().write("db", "api");
  scene.follow(BEFORE, spec);
  await scene.settle();
  expect(scene.outcome()).toBe("other=api@1 password=db@1, Synced");
  return scene;
}

/** The same; then the vault lacks one of the secrets, and an edit renames its key. */
async function renamed(spec: Spec = {}, key = "secret"): Promise<SimulatedWorld> {
  const scene = await withTarget(spec);
  scene.vault().remove("db");
  await scene.settle();
  scene.follow({ [key]: "db", other: "api" }, spec);
  await scene.settle();
  return scene;
}

// The new key had no bytes, and the former one left with the last bytes that there were.
describe("an edit renames a key whose secret is missing", () => {
  test.each([{}, { creationPolicy: "Orphan" }])("the former key stays: %j", async (target) => {
    await using scene = await renamed({ target });
    expect(scene.outcome()).toBe(KEPT);
    expect(scene.status().items).toMatchObject([
      { secretKey: "password", key: "db", version: 1 },
      { secretKey: "other", key: "api", version: 1 },
    ]);
    await scene.settle(PROOF);
    expect(scene.outcome()).toBe(KEPT);
  });

  test("all other keys follow, also after a restart and further names", async () => {
    await using scene = await renamed();
    scene.vault().write("api");
    await scene.restart();
    await scene.settle();
    scene.follow({ token: "db", other: "api" });
    await scene.settle(PROOF);
    expect(scene.outcome()).toBe("other=api@2 password=db@1, SourceMissing");
  });

  test("the new key replaces it when the secret is back", async () => {
    await using scene = await renamed();
    scene.vault().write("db");
    await scene.settle();
    expect(scene.outcome()).toMatch(/^other=api@1 secret=db@\d, Synced$/u);
  });

  test("and an edit that names the former key again finds its bytes", async () => {
    await using scene = await renamed();
    scene.follow(BEFORE);
    await scene.settle();
    expect(scene.outcome()).toBe(KEPT);
  });

  test("an edit that gives the former key to another secret does not keep it", async () => {
    await using scene = await renamed();
    scene.follow({ secret: "db", password: "api" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=api@1, SourceMissing");
  });

  test("an edit that does not name the secret does not keep it either", async () => {
    await using scene = await renamed();
    scene.follow({ other: "api" });
    await scene.settle();
    expect(scene.outcome()).toBe("other=api@1, Synced");
  });

  test("whenMissing: Delete removes the former key when the absence is proven", async () => {
    await using scene = await withTarget({ target: { whenMissing: "Delete" } });
    scene.vault().remove("db");
    await scene.settle();
    scene.follow(RENAMED, { target: { whenMissing: "Delete" } });
    await scene.settle();
    expect(scene.outcome()).toBe(KEPT);
    await scene.settle(PROOF);
    expect(scene.outcome()).toMatch(/^other=api@1, /u);
  });

  test("the object that it is merged into keeps the former key", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().write("db", "api");
    const metadata = { namespace: "shop", name: "app" };
    scene.server.create(SECRETS, { apiVersion: "v1", kind: "Secret", metadata });
    const target = { name: "app", creationPolicy: "Merge" };
    scene.follow(BEFORE, { target });
    await scene.settle();
    scene.vault().remove("db");
    await scene.settle();
    scene.follow(RENAMED, { target });
    await scene.settle(PROOF);
    expect(Object.keys(scene.target("app")?.data ?? {}).sort()).toEqual(["other", "password"]);
    scene.vault().write("db");
    await scene.settle();
    expect(Object.keys(scene.target("app")?.data ?? {}).sort()).toEqual(["other", "secret"]);
  });
});

describe("a secret has a delete_time when an edit renames its key", () => {
  test.each(["Delete", "Retain"])(
    "whenRemoved: %s decides, also after a restart",
    async (policy) => {
      const target = { whenRemoved: policy };
      await using scene = await withTarget({ target });
      scene.vault().schedule(scene.clock.now() + 10 * MINUTE, "db");
      await scene.settle(2 * MINUTE);
      scene.vault().setDown(true);
      await scene.settle(10 * MINUTE);
      scene.follow(RENAMED, { target });
      await scene.restart();
      scene.vault().setDown(false);
      await scene.settle(PROOF);
      expect(scene.outcome()).toMatch(
        policy === "Delete" ? /^other=api@1, / : /^other=api@1 password=db@1, /u,
      );
    },
  );
});

describe("a gate is closed when the secret of a renamed key is back", () => {
  const updates = { approval: "Required" };

  test("it keeps all other keys", async () => {
    await using scene = await renamed({ updates });
    scene.vault().write("api");
    await scene.settle(PROOF);
    expect(scene.outcome()).toBe("other=api@1 password=db@1, SourceMissing");
    scene.vault().write("db");
    await scene.settle();
    expect(scene.outcome()).toMatch(/^other=api@1 secret=db@\d, /u);
  });

  test("the former key of an optional one stays until the gate opens", async () => {
    await using scene = await withTarget({ data: withOptional("password") });
    scene.vault().remove("db");
    await scene.settle(1_000);
    scene.follow({}, { data: withOptional("secret") });
    await scene.settle(1_000);
    scene.freeze();
    scene.vault().write("db");
    await scene.settle(10 * MINUTE);
    expect(scene.outcome()).toMatch(/^other=api@1 password=db@1, /u);
    await scene.settle(DAY);
    expect(scene.outcome()).toMatch(/^other=api@1 secret=db@\d, Synced$/u);
  });
});

const WAIT_MS = 20 * 60_000;

const from = (secretKey: string, key: string, more: object = {}) => ({
  secretKey,
  remoteRef: { key },
  ...more,
});
const extract = (key: string) => ({ extract: { key } });
const template = (all: string) => ({ template: { data: { all } } });

/** An edit after which the bytes of the secret `gone` are under a key that it does not feed. */
interface Edit {
  /** Secrets of the vault that the first spec refers to. */
  readonly values: Readonly<Record<string, string>>;
  readonly before: Spec;
  readonly after: Spec;
  /** Secrets that are missing before the edit: the target is not written. */
  readonly missing?: readonly string[];
  /** Values that are left when `gone` is removed at its `delete_time`. */
  readonly left: Readonly<Record<string, string>> | undefined;
}

const edits: Readonly<Record<string, Edit>> = {
  "under a key whose new source is missing": {
    values: { gone: "one", other: "two" },
    before: { data: [from("a", "gone"), from("b", "other")] },
    after: { data: [from("a", "absent"), from("b", "other"), from("c", "gone")] },
    left: { b: "two" },
  },
  "extracted at another place of dataFrom": {
    values: { gone: '{"x":"1"}' },
    before: { data: undefined, dataFrom: [extract("gone")] },
    after: { data: undefined, dataFrom: [extract("absent"), extract("gone")] },
    left: undefined,
  },
  "in a template with another name of the variable": {
    values: { a: "1", gone: "2" },
    before: { data: data("a", "gone"), target: template("{{ a }} {{ gone }}") },
    after: { data: [...data("a"), from("b", "gone")], target: template("{{ a }} {{ b }}") },
    missing: ["a"],
    left: undefined,
  },
  "in a former target under another key": {
    values: { a: "1", gone: "2", c: "3" },
    before: { data: data("a", "gone", "c") },
    after: { data: [...data("a", "c"), from("b", "gone")], target: { name: "after" } },
    missing: ["a"],
    left: { a: "1", c: "3" },
  },
  "in a former target of another template": {
    values: { a: "1", gone: "2" },
    before: { data: data("a", "gone"), target: template("{{ a }} {{ gone }}") },
    after: {
      data: data("a", "gone"),
      target: { name: "after", ...template("{{ a }}-{{ gone }}") },
    },
    missing: ["a"],
    left: undefined,
  },
  "under a renamed key that waits for a rule": {
    values: { a: "1", gone: "2" },
    before: { data: data("a", "gone"), updates: { approval: "Required" } },
    after: {
      data: [from("a", "a", { validate: { minLength: 7 } }), from("b", "gone")],
      updates: { approval: "Required" },
    },
    left: { a: "1" },
  },
};

const shown = (scene: SimulatedWorld): Readonly<Record<string, string>> | undefined =>
  valuesOf(scene.target("db"));

/** Returns the world after an edit, and the secrets that its vault still has. */
async function edited({ values, before, after, missing = [] }: Edit) {
  const scene = await synced(values, before);
  const rest = Object.fromEntries(
    Object.entries(values).filter(([name]) => !missing.includes(name)),
  );
  scene.vault().serves(rest);
  scene.follow({}, after);
  await scene.settle();
  return { scene, rest };
}

// A delete_time is a promise to the creator of the secret, whatever key has its bytes.
test.each(Object.entries(edits))("the bytes of a removed secret leave %s", async (_, edit) => {
  const { scene, rest } = await edited(edit);
  await using _scene = scene;
  await remove(scene, rest, "gone");
  await scene.settle(WAIT_MS);
  expect(shown(scene)).toEqual(edit.left);
});

/** Returns a spec that keeps what the vault removes. */
const withPolicy = (spec: Spec): Spec => ({
  ...spec,
  target: { ...(spec["target"] as object | undefined), whenRemoved: "Retain" },
});

test.each(Object.entries(edits))("with Retain, they stay %s", async (_, edit) => {
  const all = { ...edit, before: withPolicy(edit.before), after: withPolicy(edit.after) };
  const { scene, rest } = await edited(all);
  await using _scene = scene;
  const kept = shown(scene);
  await remove(scene, rest, "gone");
  await scene.settle(WAIT_MS);
  expect(shown(scene)).toEqual(kept);
});
