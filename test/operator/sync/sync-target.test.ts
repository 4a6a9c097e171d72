import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { MANAGED_BY_LABEL } from "../../../src/operator/api/names.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { WATCH_LAG_MS } from "../../../src/operator/controllers/outcome/own-writes.ts";
import { TARGET_WAIT_MS } from "../../../src/operator/controllers/sync/sync-result.ts";
import { vaultFileKind } from "../../../src/operator/api/kinds.ts";
import { readStatus } from "../../../src/operator/sync/stored-status.ts";

/** Starts an operator that has synced version 1 of `db`. */
async function synced(
  data: Readonly<Record<string, string>> = { password: "db" },
): Promise<SimulatedWorld> {
  const names = [...new Set(Object.values(data))];
  const scene = await SimulatedWorld.following(
    names.map((name) => ({ name })),
    data,
  );
  expect(scene.condition("Ready")?.reason).toBe("Synced");
  return scene;
}

const target = { namespace: "shop", name: "db" };

describe("a resource in sync", () => {
  test("costs two writes the first time, and no reconcile later shows in a request", async () => {
    await using scene = await synced();
    expect(scene.takeRequests()).toEqual(["create secrets db", "update vaultsecrets db"]);
    await scene.settle(2 * WATCH_LAG_MS);
    expect(scene.takeRequests()).toEqual([]);
  });

  test("is verified without a request after a restart", async () => {
    await using scene = await synced();
    scene.takeRequests();
    await scene.replace();
    await scene.settle();
    expect(scene.takeRequests()).toEqual([]);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("is read and repaired after a restart if its target was edited meanwhile", async () => {
    await using scene = await synced();
    await scene.stop();
    scene.edit({ password: "edited" });
    scene.takeRequests();
    await scene.replace();
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(scene.takeRequests()).toContain("get secrets db");
  });

  test("has the type that its spec requests, also if a restart interrupted the change", async () => {
    await using scene = await synced({ username: "user", password: "db" });
    await scene.stop();
    scene.follow(
      { username: "user", password: "db" },
      { target: { type: "kubernetes.io/basic-auth" } },
    );
    await scene.replace();
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("TargetImmutable");
  });
});

// Found by the simulation: the status named the content of the target until the next resync.
test("a target that lost its label and cannot be written is missed soon after its deletion", async () => {
  await using scene = await synced();
  scene.server.patch(SECRETS, target, { metadata: { labels: { [MANAGED_BY_LABEL]: null } } });
  scene.follow({}, { data: undefined, dataFrom: [{ extract: { key: "missing" } }] });
  await scene.settle();
  expect(scene.condition("Ready")?.message).toContain("existing content is kept");
  scene.server.delete(SECRETS, target);
  await scene.settle(TARGET_WAIT_MS);
  expect(scene.condition("Ready")?.message).toContain("the Secret db is not created without it");
  scene.takeRequests();
  await scene.settle(2 * TARGET_WAIT_MS);
  expect(scene.takeRequests()).toEqual([]);
});

describe("a new version", () => {
  test("is patched into a verified target without reading it", async () => {
    await using scene = await synced();
    scene.takeRequests();
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    expect(scene.takeRequests()).toEqual(["patch secrets db", "update vaultsecrets db"]);
  });

  test("is patched next to a key that stays, in the same process", async () => {
    await using scene = await synced({ one: "a", other: "b" });
    scene.takeRequests();
    scene.vault().lists({ name: "a" }, { name: "b", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@1 other=vault b@2, Synced");
    expect(scene.takeRequests()).toEqual(["patch secrets db", "update vaultsecrets db"]);
    await scene.stop();
    scene.takeRequests();
    scene.edit({ one: "edited" });
    await scene.replace();
    expect(scene.outcome()).toBe("one=vault a@1 other=vault b@2, Synced");
  });

  test("removes a key that the spec no longer has", async () => {
    await using scene = await synced({ one: "a", other: "b" });
    scene.takeRequests();
    scene.follow({ one: "a" });
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@1, Synced");
    expect(scene.takeRequests()).toEqual(["patch secrets db", "update vaultsecrets db"]);
  });

  test("keeps labels and annotations of others", async () => {
    await using scene = await synced();
    scene.server.patch(SECRETS, target, {
      metadata: { labels: { team: "shop" }, annotations: { note: "by hand" } },
    });
    await scene.settle();
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    expect(scene.target()?.metadata).toMatchObject({
      labels: { team: "shop" },
      annotations: { note: "by hand" },
    });
  });

  test("is written together with the owner reference that a user removed", async () => {
    await using scene = await synced();
    await scene.stop();
    scene.server.patch(SECRETS, target, { metadata: { ownerReferences: null } });
    scene.vault().lists({ name: "db", version: 2 });
    scene.takeRequests();
    await scene.replace();
    await scene.settle();
    expect(scene.takeRequests()).toEqual([
      "get secrets db",
      "update secrets db",
      "update vaultsecrets db",
    ]);
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    expect(scene.target()?.metadata.ownerReferences).toMatchObject([
      { uid: scene.resource().metadata.uid },
    ]);
  });

  test("is not written over a change that the watch has not shown", async () => {
    await using scene = await synced();
    scene.takeRequests();
    scene.network = {
      send: ({ verb }) => {
        if (verb === "patch") scene.edit({ password: "edited", foreign: "x" });
      },
    };
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    const read = ["get secrets db", "update secrets db"];
    expect(scene.takeRequests()).toEqual(["patch secrets db", ...read, "update vaultsecrets db"]);
  });
});

describe("a target that a webhook changes", () => {
  test("is reported as rejected, with backoff and without a repair of each write", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.server.webhooks.push((object) =>
      object.kind === "Secret" ? { ...object, data: { password: "b3RoZXI=" } } : object,
    );
    scene.vault().lists({ name: "db" });
    scene.follow({ password: "db" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=other, TargetRejected");
    await scene.settle(3_600_000);
    expect(
      scene
        .takeRequests()
        .filter((request) => request.endsWith("secrets db") && !request.includes("vault")).length,
    ).toBeLessThan(150);
    scene.server.webhooks.pop();
    await scene.settle(600_000);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("is reported as rejected if it loses the label", async () => {
    await using scene = await SimulatedWorld.shop();
    const withoutLabel = { [MANAGED_BY_LABEL]: "another" };
    scene.server.webhooks.push((object) =>
      object.kind === "Secret"
        ? { ...object, metadata: { ...object.metadata, labels: withoutLabel } }
        : object,
    );
    scene.vault().lists({ name: "db" });
    scene.follow({ password: "db" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, TargetRejected");
  });

  // The status stayed TargetRejected: the write of a new version was accepted after the delay of
  // the repairs had passed.
  test("is in sync again when a new version is written without the webhook", async () => {
    for (const seconds of [10, 15, 20, 30]) {
      await using scene = await synced();
      scene.server.webhooks.push((object) =>
        object.kind === "Secret"
          ? { ...object, metadata: { ...object.metadata, labels: {} } }
          : object,
      );
      scene.vault().lists({ name: "db", version: 2 });
      await scene.settle(seconds * 1_000);
      expect(scene.outcome()).toBe("password=vault db@2, TargetRejected");
      scene.server.webhooks.pop();
      scene.vault().lists({ name: "db", version: 3 });
      await scene.settle(120_000);
      expect(scene.outcome()).toBe("password=vault db@3, Synced");
    }
  });
});

describe("a target that another writer changes each time", () => {
  test("is repaired with growing delays and reported as contested until the other writer stops", async () => {
    await using scene = await synced();
    scene.takeRequests();
    using other = scene.server.onCommit(({ user }) => {
      if (user === "operator" && scene.target()?.data?.password !== "b3RoZXI=") {
        scene.clock.timer(5, () => scene.edit({ password: "other" }));
      }
    });
    scene.edit({ password: "other" });
    await scene.settle(10_000);
    expect(scene.condition("Ready")?.reason).toBe("TargetContested");
    await scene.settle(600_000);
    const writes = scene
      .takeRequests()
      .filter((request) => /^(patch|update) secrets/.test(request));
    expect(writes.length).toBeLessThan(12);
    expect(scene.events.filter(({ reason }) => reason === "TargetContested")).toHaveLength(1);
    other[Symbol.dispose]();
    await scene.settle(600_000);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("has the versions of its sources in the status while its repair waits", async () => {
    await using scene = await synced();
    for (const value of ["one", "two", "three", "four"]) {
      scene.edit({ password: value });
      await scene.settle(100);
    }
    expect(scene.condition("Ready")?.reason).toBe("TargetContested");
    expect(scene.status().items).toMatchObject([{ key: "db", version: 1, latest: 1 }]);
  });

  test("is not contested while its source is missing, when the operator would not create it", async () => {
    await using scene = await synced();
    for (let round = 0; round < 4; round += 1) {
      if (scene.target() !== undefined) scene.deleteTarget();
      await scene.settle(100);
    }
    expect(scene.outcome()).toBe("absent, TargetContested");
    scene.vault().lists();
    await scene.settle(100);
    expect(scene.outcome()).toBe("absent, SourceMissing");
  });

  test("is recreated with growing delays if the other writer deletes it", async () => {
    await using scene = await synced();
    scene.takeRequests();
    using other = scene.server.onCommit(({ user }) => {
      if (user !== "operator") return;
      scene.clock.timer(5, () => {
        if (scene.target() !== undefined) scene.server.delete(SECRETS, target);
      });
    });
    scene.server.delete(SECRETS, target);
    await scene.settle(600_000);
    expect(scene.condition("Ready")?.reason).toBe("TargetContested");
    expect(
      scene.takeRequests().filter((request) => request === "create secrets db").length,
    ).toBeLessThan(12);
    other[Symbol.dispose]();
    await scene.settle(600_000);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("is not contested by three versions in a minute", async () => {
    await using scene = await synced();
    for (const version of [2, 3, 4, 5]) {
      scene.vault().lists({ name: "db", version });
      await scene.settle(1_000);
    }
    expect(scene.outcome()).toBe("password=vault db@5, Synced");
  });
});

describe("a target name that another object has", () => {
  test("is taken once a foreign object with a finalizer is gone", async () => {
    await using scene = await SimulatedWorld.shop();
    const metadata = { ...target, finalizers: ["example.com/hold"] };
    const foreign = scene.server.create(SECRETS, { apiVersion: "v1", kind: "Secret", metadata });
    scene.vault().lists({ name: "db" });
    scene.follow({ password: "db" });
    await scene.settle();
    expect(scene.outcome()).toBe("absent, TargetConflict");
    scene.server.delete(SECRETS, foreign.metadata);
    await scene.settle(60_000);
    scene.server.patch(SECRETS, target, { metadata: { finalizers: null } });
    await scene.settle(60_000);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });
});

const removeLabel = (scene: SimulatedWorld): void => {
  scene.server.patch(SECRETS, target, { metadata: { labels: { [MANAGED_BY_LABEL]: null } } });
};

/** Returns all messages that the condition Ready of `db` has from now on. */
function messagesOf(scene: SimulatedWorld): string[] {
  const messages: string[] = [];
  scene.server.onCommit(({ resource, after }) => {
    if (resource.kind === "VaultSecret" && after?.metadata.name === "db")
      messages.push(
        readStatus("VaultSecret", after["status"]).conditions?.find(({ type }) => type === "Ready")
          ?.message ?? "",
      );
  });
  return messages;
}

/** Starts an operator whose source `db` is gone after its target was written. */
async function missing(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  scene.vault().lists();
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, SourceMissing");
  return scene;
}

describe("a target whose label a tool removes while its source is missing", () => {
  test("gets it back, and is never reported as not created", async () => {
    await using scene = await missing();
    const messages = messagesOf(scene);
    removeLabel(scene);
    await scene.settle(60_000);
    expect(messages.filter((message) => !message.includes("existing content is kept"))).toEqual([]);
    expect(scene.target()?.metadata.labels).toHaveProperty([MANAGED_BY_LABEL]);
  });

  test("is found after a restart, also next to a rival that names it", async () => {
    await using scene = await missing();
    scene.vault().uploads("app.conf");
    scene.vault().lists();
    scene.put(
      vaultFileKind,
      { namespace: "shop", name: "rival" },
      {
        connectionRef: { name: "vault" },
        files: [{ filename: "app.conf" }],
        target: { kind: "Secret", name: "db" },
      },
    );
    await scene.settle();
    await scene.stop();
    removeLabel(scene);
    const messages = messagesOf(scene);
    await scene.replace();
    await scene.settle(60_000);
    expect(messages.filter((message) => !message.includes("existing content is kept"))).toEqual([]);
  });

  test("is reported as not created once it is deleted", async () => {
    await using scene = await missing();
    scene.deleteTarget();
    await scene.settle();
    expect(scene.condition("Ready")?.message).toContain("the Secret db is not created without it");
  });
});
