import { expect, test } from "vitest";
import { data, remove, synced } from "../../lab/kube/removed-sources.ts";
import { valuesOf } from "../../lab/simulated/simulated-operator.ts";
import type { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

const WAIT_MS = 20 * 60_000;

const from = (secretKey: string, key: string, more: object = {}) => ({
  secretKey,
  remoteRef: { key },
  ...more,
});
const extract = (key: string) => ({ extract: { key } });
const template = (all: string) => ({ template: { data: { all } } });

type Spec = Readonly<Record<string, unknown>>;

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
