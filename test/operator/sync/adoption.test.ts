import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import {
  ADOPT_ANNOTATION,
  CONFIRM_REMOVALS_ANNOTATION,
  FORCE_SYNC_ANNOTATION,
} from "../../../src/operator/api/names.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";

const ref = { namespace: "shop", name: "db" };
const data = { password: "db" };

const encoded = (text: string): string => Buffer.from(text).toString("base64");

const ownersOf = (scene: SimulatedWorld): string[] =>
  (scene.target()?.metadata.ownerReferences ?? []).map(
    ({ kind, name, controller }) => `${kind}/${name} ${controller}`,
  );

/**
 * Starts an operator whose resource names an object of another owner with this metadata and these
 * values.
 */
async function occupied(
  metadata: object,
  values: Readonly<Record<string, string>> = { password: "foreign" },
): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop("db");
  const content = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, encoded(value)]),
  );
  scene.server.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...ref, ...metadata },
    data: content,
  });
  scene.follow(data);
  await scene.settle();
  return scene;
}

describe("an object with keys of other field managers, into which a resource merges", () => {
  const kubectl = { user: "ann", fieldManager: "kubectl" };
  const merge = { target: { name: "db", creationPolicy: "Merge" } };

  /** Starts an operator with an object that has a key of the spec and another one. */
  async function shared(adopters?: string): Promise<SimulatedWorld> {
    const scene = await SimulatedWorld.shop("db", "web");
    const annotations = adopters === undefined ? {} : { [ADOPT_ANNOTATION]: adopters };
    const object = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { ...ref, annotations },
      data: { password: encoded("theirs"), more: encoded("more") },
    };
    scene.server.apply(SECRETS, object, { force: false }, kubectl);
    scene.follow(data, merge);
    await scene.settle();
    return scene;
  }

  test("keeps them, with a message that has the annotation", async () => {
    await using scene = await shared();
    expect(scene.outcome()).toBe("more=more password=theirs, TargetConflict");
    expect(scene.condition("Ready")?.message).toContain("vaultsync.dev/adopt: VaultSecret/db");
  });

  test("loses only the keys of the spec to the resource that it is handed over to", async () => {
    await using scene = await shared("VaultSecret/db");
    expect(scene.outcome()).toBe("more=more password=vault db@1, Synced");
    expect(scene.target()?.metadata.annotations).not.toHaveProperty([ADOPT_ANNOTATION]);
    expect(ownersOf(scene)).toEqual([]);
  });

  test("names further resources that it is handed over to until they have their keys", async () => {
    await using scene = await shared("VaultSecret/web, VaultSecret/db");
    expect(scene.outcome()).toBe("more=more password=vault db@1, Synced");
    expect(scene.target()?.metadata.annotations).toHaveProperty(
      [ADOPT_ANNOTATION],
      "VaultSecret/web",
    );
  });

  test("reports a key that its owner takes back afterwards", async () => {
    await using scene = await shared("VaultSecret/db");
    scene.server.patch(SECRETS, ref, { data: { password: "YmFjaw==" } }, kubectl);
    await scene.settle();
    expect(scene.outcome()).toBe("more=more password=back, TargetConflict");
  });

  test("keeps the key that another resource has merged", async () => {
    await using scene = await shared("VaultSecret/db");
    scene.follow({ password: "web" }, { ...merge, name: "other" });
    scene.server.patch(SECRETS, ref, {
      metadata: { annotations: { [ADOPT_ANNOTATION]: "VaultSecret/other" } },
    });
    await scene.settle(60_000);
    expect(scene.outcome()).toBe("more=more password=vault db@1, Synced");
    expect(scene.outcome("other")).toBe("absent, TargetConflict");
  });
});

describe("an object that exists before the resource", () => {
  const adopt = { [ADOPT_ANNOTATION]: "VaultSecret/db" };

  test("is a conflict whose message has the annotation that hands it over", async () => {
    await using scene = await occupied({ annotations: { note: "keep" } });
    expect(scene.outcome()).toBe("password=foreign, TargetConflict");
    expect(scene.condition("Ready")?.message).toContain("vaultsync.dev/adopt: VaultSecret/db");
    scene.server.patch(SECRETS, ref, { metadata: { annotations: adopt } });
    await scene.settle(31_000);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(scene.target()?.metadata.annotations).not.toHaveProperty([ADOPT_ANNOTATION]);
    expect(scene.target()?.metadata.annotations).toHaveProperty("note", "keep");
    expect(ownersOf(scene)).toEqual(["VaultSecret/db true"]);
  });

  test("is adopted immediately if a sync is forced after the annotation", async () => {
    await using scene = await occupied({});
    scene.server.patch(SECRETS, ref, { metadata: { annotations: adopt } });
    scene.server.patch(vaultSecretKind, ref, {
      metadata: { annotations: { [FORCE_SYNC_ANNOTATION]: "1" } },
    });
    await scene.settle(1_000);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("is adopted immediately if it was annotated before", async () => {
    await using scene = await occupied({ annotations: adopt });
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(scene.target()?.metadata.annotations).not.toHaveProperty([ADOPT_ANNOTATION]);
  });

  test("is a conflict whose message says how to keep it if another object controls it", async () => {
    const controller = {
      apiVersion: "external-secrets.io/v1",
      kind: "ExternalSecret",
      name: "db",
      uid: "uid-1",
      controller: true,
    };
    await using scene = await occupied({ ownerReferences: [controller] });
    expect(scene.condition("Ready")?.message).toBe(
      "the Secret db already exists and is controlled by ExternalSecret/db: choose another target.name, or delete that object with " +
        "--cascade=orphan, which keeps the Secret, and hand it over with the annotation vaultsync.dev/adopt: VaultSecret/db",
    );
  });

  test("is left unchanged if its controller has the name of the resource and another group", async () => {
    await using scene = await occupied({ annotations: adopt });
    scene.follow(data, { target: { creationPolicy: "Orphan" } });
    await scene.settle();
    const controller = {
      apiVersion: "external-secrets.io/v1",
      kind: "ExternalSecret",
      name: "db",
      uid: "uid-1",
      controller: true,
    };
    scene.server.patch(SECRETS, ref, { metadata: { ownerReferences: [controller] } });
    scene.edit({ password: "theirs" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=theirs, TargetConflict");
    expect(ownersOf(scene)).toEqual(["ExternalSecret/db true"]);
    expect(scene.condition("Ready")?.message).toContain("is controlled by ExternalSecret/db");
  });

  test.each([
    ["names another resource", { annotations: { [ADOPT_ANNOTATION]: "VaultSecret/other" } }],
    ["names another kind", { annotations: { [ADOPT_ANNOTATION]: "VaultFile/db" } }],
    [
      "has another controller",
      {
        annotations: adopt,
        ownerReferences: [
          {
            apiVersion: "v1",
            kind: "ConfigMap",
            name: "owner",
            uid: "uid-of-the-owner",
            controller: true,
          },
        ],
      },
    ],
  ])("is left unchanged if the annotation %s", async (_, metadata) => {
    await using scene = await occupied(metadata);
    expect(scene.outcome()).toBe("password=foreign, TargetConflict");
  });
});

describe("an object with keys that the spec does not have, which is handed over", () => {
  const adopt = { [ADOPT_ANNOTATION]: "VaultSecret/db" };
  const values = { password: "foreign", one: "1", other: "2" };

  test("is left unchanged, and the condition names the keys and the command that confirms", async () => {
    await using scene = await occupied({ annotations: adopt }, values);
    expect(scene.outcome()).toBe("one=1 other=2 password=foreign, AdoptionHeld");
    expect(scene.condition("Stalled")?.message).toBe(
      "the Secret db is handed over with keys that the spec does not have, which would be removed: one, other; it is left unchanged. Add them to the spec, " +
        "or confirm with: kubectl annotate secret -n shop db vaultsync.dev/confirm-removals=2",
    );
    await scene.settle(600_000);
    expect(scene.outcome()).toBe("one=1 other=2 password=foreign, AdoptionHeld");
  });

  test("is adopted when a user confirms their number", async () => {
    await using scene = await occupied({ annotations: adopt }, values);
    scene.server.patch(SECRETS, ref, {
      metadata: { annotations: { [CONFIRM_REMOVALS_ANNOTATION]: "2" } },
    });
    await scene.settle(31_000);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(ownersOf(scene)).toEqual(["VaultSecret/db true"]);
    const annotations = Object.keys(scene.target()?.metadata.annotations ?? {});
    expect(annotations).not.toContain(ADOPT_ANNOTATION);
    expect(annotations).not.toContain(CONFIRM_REMOVALS_ANNOTATION);
  });

  test("is left unchanged if a user confirms another number", async () => {
    await using scene = await occupied(
      { annotations: { ...adopt, [CONFIRM_REMOVALS_ANNOTATION]: "1" } },
      values,
    );
    expect(scene.outcome()).toBe("one=1 other=2 password=foreign, AdoptionHeld");
  });

  test("is adopted when the spec has the keys, or a user removes them", async () => {
    await using scene = await occupied({ annotations: adopt }, values);
    scene.vault().lists({ name: "db" }, { name: "x" });
    scene.follow({ password: "db", one: "x" });
    await scene.settle();
    expect(scene.condition("Ready")?.message).toContain("would be removed: other;");
    scene.server.patch(SECRETS, ref, { data: { other: null } });
    await scene.settle(31_000);
    expect(scene.outcome()).toBe("one=vault x@1 password=vault db@1, Synced");
  });

  // Found by the simulation: the message said that the spec does not have the key.
  test("is left unchanged if it has a key of the spec whose source is gone", async () => {
    await using scene = await occupied({ annotations: adopt }, { password: "foreign", one: "1" });
    scene.follow({ password: "db", one: "gone" }, { target: { whenMissing: "Delete" } });
    await scene.settle(300_000);
    expect(scene.outcome()).toBe("one=1 password=foreign, AdoptionHeld");
    expect(scene.condition("Ready")?.message).toContain(
      "with keys that the spec does not have or whose source is gone, ",
    );
  });

  test("is not deleted when the vault has removed all sources", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().lists({ name: "db", deleteAt: scene.clock.now() + 60_000 });
    scene.follow(data);
    await scene.settle();
    await scene.stop();
    scene.deleteTarget();
    scene.server.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { ...ref, annotations: adopt },
      data: { password: Buffer.from("foreign").toString("base64") },
    });
    await scene.clock.advance(61_000);
    scene.vault().lists();
    await scene.replace();
    expect(scene.outcome()).toBe("password=foreign, SourceRemoved");
  });
});
