import { expect, test } from "vitest";
import type { InMemoryResponse } from "../lab/simulated/vault/in-memory-vault.ts";
import { ACCOUNT, OTHER } from "../lab/simulated/simulated-vault.ts";
import { SimulatedWorld, pushed, withPushSource } from "../lab/simulated/simulated-world.ts";

/** Starts a world with a push of `db` that the scope of its login does not admit. */
async function denied(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.forPushes();
  scene.pushes.connect("vault", { scope: { secretName: ["other"] } });
  scene.pushes.source({ password: "one" });
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.reason()).toBe("ScopeDenied");
  return scene;
}

test("an operator that dies between the push and its status does not push again", async () => {
  await using scene = await withPushSource();
  scene.network = {
    send: ({ verb, resource, signal }) =>
      verb === "update" && resource.plural === "vaultpushes"
        ? scene.clock.sleep(600_000, signal)
        : undefined,
  };
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.status().items).toBeUndefined();
  await scene.pushes.restart();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.status().items).toMatchObject([{ version: 1 }]);
});

test("a restart reads the Secret once and pushes nothing", async () => {
  await using scene = await pushed();
  await scene.pushes.restart();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.takeVaultWrites()).toEqual([]);
});

test.each(["timeout", "error"])(
  "a push whose response is lost (%s) is not repeated if the vault has stored it",
  async (how) => {
    await using scene = await SimulatedWorld.forPushes();
    let lost = 0;
    scene.vault().network = {
      respond: async ({ operation }, response, signal) => {
        if (operation !== "protect" || lost > 0) return response;
        lost += 1;
        if (how === "timeout") await scene.clock.sleep(60_000, signal);
        return { ...response, status: 500, body: new Uint8Array() };
      },
    };
    scene.pushes.source({ password: "one" });
    scene.pushes.put();
    await scene.settle(60_000);
    expect(lost).toBe(1);
    expect(scene.pushes.versions()).toEqual(["one"]);
    expect(scene.pushes.reason()).toBe("Synced");
    expect(scene.pushes.status().items).toMatchObject([{ version: 1, created: true }]);
  },
);

test("an old list after a push causes no second version, and nothing but reads", async () => {
  await using scene = await pushed();
  const lists: InMemoryResponse[] = [];
  scene.vault().network = {
    respond: ({ operation }, response) => {
      if (operation === "list_no_dup" && response.status === 200) lists.push(response);
      return Promise.resolve(operation === "list_no_dup" ? (lists[0] ?? response) : response);
    },
  };
  await scene.settle();
  scene.pushes.source({ password: "two" });
  await scene.settle(120_000);
  expect(scene.pushes.versions()).toEqual(["one", "two"]);
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.takeVaultWrites()).toEqual(["protect"]);
});

test("a Secret that returns to its former value before the next list is pushed again", async () => {
  await using scene = await pushed();
  scene.pushes.connect("vault", { refreshInterval: "5m" });
  await scene.settle();
  scene.pushes.source({ password: "two" });
  while (scene.pushes.versions().length < 2) await scene.settle(1_000);
  scene.pushes.source({ password: "one" });
  await scene.settle(15_000);
  expect(scene.pushes.versions()).toEqual(["one", "two", "one"]);
  expect(scene.pushes.reason()).toBe("Synced");
  await scene.settle(600_000);
  expect(scene.pushes.notes.filter((event) => event.startsWith("EntryRestored"))).toEqual([]);
});

test("after a push that the list does not show, one more read and one more list follow", async () => {
  await using scene = await pushed();
  scene.pushes.connect("vault", { refreshInterval: "1h" });
  await scene.settle();
  scene.pushes.source({ password: "two" });
  scene.pushes.takeVaultRequests();
  await scene.settle(600_000);
  expect(scene.pushes.takeVaultRequests().sort()).toEqual([
    "expose",
    "expose",
    "list_no_dup",
    "protect",
  ]);
  expect(scene.pushes.versions()).toEqual(["one", "two"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("a push that the vault did not store is repeated", async () => {
  await using scene = await SimulatedWorld.forPushes();
  let failing = true;
  scene.vault().network = {
    send: ({ operation }) => {
      if (operation !== "protect" || !failing) return Promise.resolve(undefined);
      return Promise.resolve({ status: 503, headers: {}, body: new Uint8Array() });
    },
  };
  scene.pushes.source({ password: "one" });
  scene.pushes.put();
  await scene.settle(5_000);
  expect(scene.pushes.versions()).toEqual([]);
  expect(scene.pushes.reason()).toBe("VaultUnreachable");
  expect(scene.pushes.condition("Reconciling")?.status).toBe("True");
  failing = false;
  await scene.settle(60_000);
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("a change of the entry in the vault is overwritten, with increasing delays", async () => {
  await using scene = await pushed();
  for (let round = 0; round < 10; round += 1) {
    scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: `edit ${round}` });
    await scene.settle(15_000);
  }
  expect(scene.pushes.reason()).toBe("TargetContested");
  expect(scene.pushes.condition("Stalled")?.status).toBe("True");
  const ours = scene.pushes.versions().filter((value) => value === "one").length;
  // Without a limit there would be one for each edit, and the first one.
  expect(ours).toBeLessThan(8);
  expect(ours).toBeGreaterThan(2);
  await scene.settle(600_000);
  expect(scene.pushes.versions().at(-1)).toBe("one");
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.notes.some((event) => event.startsWith("EntryRestored: "))).toBe(true);
});

test("an entry that was deleted in the vault is pushed again", async () => {
  await using scene = await pushed();
  scene.vault().act(ACCOUNT, "delete", { key_name: "db" });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.takeVaultWrites()).toEqual(["protect"]);
});

test("a secret outside the scope is ScopeDenied and not sent again every minute", async () => {
  await using scene = await SimulatedWorld.forPushes();
  scene.pushes.connect("vault", { scope: { environmentType: ["prod"] } });
  scene.pushes.source({ password: "one" });
  scene.pushes.put();
  await scene.settle(120_000);
  expect(scene.pushes.versions()).toEqual([]);
  expect(scene.pushes.reason()).toBe("ScopeDenied");
  expect(scene.pushes.takeVaultWrites()).toEqual(["protect"]);
  scene.pushes.put({
    data: [
      { secretKey: "password", remoteRef: { key: "db" }, metadata: { environment_type: "prod" } },
    ],
  });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("with onlyReferenced, the token admits the names that are pushed", async () => {
  await using scene = await SimulatedWorld.forPushes();
  scene.pushes.connect("vault", { scope: { onlyReferenced: true } });
  scene.pushes.source({ password: "one" });
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("a received secret is written only if the spec names its creator", async () => {
  await using scene = await SimulatedWorld.forPushes();
  scene.vault().act(OTHER, "protect", { key_name: "db", key_value: "theirs" });
  scene.vault().act(OTHER, "share", {
    key_name: "db",
    permission: "RW",
    usr_id_from: OTHER,
    usr_id_to: ACCOUNT,
  });
  scene.pushes.source({ password: "one" });
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.versions("db", "secret", OTHER)).toEqual(["theirs"]);
  expect(scene.pushes.reason()).toBe("AmbiguousName");
  scene.pushes.put({ data: [{ secretKey: "password", remoteRef: { key: "db", owner: OTHER } }] });
  await scene.settle();
  expect(scene.pushes.versions("db", "secret", OTHER)).toEqual(["theirs", "one"]);
  expect(scene.pushes.versions()).toEqual([]);
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.status().items).toMatchObject([{ owner: OTHER, version: 2 }]);
  scene.pushes.put({ data: [{ secretKey: "password", remoteRef: { key: "db", owner: ACCOUNT } }] });
  await scene.settle();
  expect(scene.pushes.versions("db", "secret", OTHER)).toEqual(["theirs", "one"]);
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("a secret of a trusted owner is not replaced by an own one when its share ends", async () => {
  await using scene = await SimulatedWorld.forPushes();
  scene.pushes.connect("vault", { trustedOwners: [OTHER] });
  scene.vault().act(OTHER, "protect", { key_name: "db", key_value: "theirs" });
  scene.vault().act(OTHER, "share", {
    key_name: "db",
    permission: "RW",
    usr_id_from: OTHER,
    usr_id_to: ACCOUNT,
  });
  scene.pushes.source({ password: "one" });
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.versions("db", "secret", OTHER)).toEqual(["theirs", "one"]);
  expect(scene.pushes.reason()).toBe("Synced");
  scene.vault().act(OTHER, "unshare", { key_name: "db", usr_id_from: OTHER });
  scene.pushes.source({ password: "two" });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual([]);
  expect(scene.pushes.reason()).toBe("SourceMissing");
});

test("a secret that is shared without permission to write is ScopeDenied, with the remedy", async () => {
  await using scene = await SimulatedWorld.forPushes();
  scene.vault().act(OTHER, "protect", { key_name: "db", key_value: "theirs" });
  scene.vault().act(OTHER, "share", {
    key_name: "db",
    permission: "R",
    usr_id_from: OTHER,
    usr_id_to: ACCOUNT,
  });
  scene.pushes.source({ password: "one" });
  scene.pushes.put({ data: [{ secretKey: "password", remoteRef: { key: "db", owner: OTHER } }] });
  await scene.settle();
  expect(scene.pushes.condition()).toMatchObject({
    reason: "ScopeDenied",
    message: expect.stringContaining(`ask ${OTHER} to share it`),
  });
  scene.vault().act(OTHER, "unshare", { key_name: "db", usr_id_from: OTHER });
  await scene.settle();
  expect(scene.pushes.reason()).toBe("SourceMissing");
  expect(scene.pushes.versions()).toEqual([]);
});

test("an own secret that is shared keeps its metadata, which the message says", async () => {
  await using scene = await pushed({
    data: [{ secretKey: "password", remoteRef: { key: "db" }, deleteTime: "30d" }],
  });
  scene.vault().act(ACCOUNT, "share", {
    key_name: "db",
    permission: "R",
    usr_id_from: ACCOUNT,
    usr_id_to: OTHER,
  });
  await scene.settle();
  scene.pushes.source({ password: "two" });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one", "two"]);
  expect(scene.pushes.takeVaultWrites()).toEqual(["protect_link"]);
  expect(scene.pushes.condition()).toMatchObject({
    reason: "Synced",
    message: expect.stringContaining("are not stored"),
  });
});

test("a scope that admits the name is used immediately, also after a rejected push", async () => {
  await using scene = await denied();
  scene.pushes.connect("vault", { scope: { secretName: ["other", "db"] } });
  await scene.settle();
  expect(scene.pushes.reason()).toBe("Synced");
});

test("a push is not Ready while the other vault of a changed connection is unavailable", async () => {
  await using scene = await pushed();
  scene.vault("second").setDown(true);
  scene.pushes.connect("vault", { url: "https://second.example.com" });
  await scene.settle();
  expect(scene.pushes.reason()).toBe("ConnectionNotReady");
  scene.vault("second").setDown(false);
  await scene.settle(120_000);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("a push stays Ready while the vault is unavailable, until its spec changes", async () => {
  await using scene = await pushed();
  scene.vault().setDown(true);
  await scene.settle(60_000);
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.condition("Reconciling")).toMatchObject({
    status: "True",
    reason: "ConnectionNotReady",
  });
  scene.pushes.put({ refreshInterval: "20s" });
  await scene.settle();
  expect(scene.pushes.reason()).toBe("ConnectionNotReady");
});

test("a push that was not Ready is not while the vault is unavailable", async () => {
  await using scene = await pushed();
  scene.pushes.source({ password: "" });
  await scene.settle();
  expect(scene.pushes.reason()).toBe("SourceSuspicious");
  scene.vault().setDown(true);
  await scene.settle(60_000);
  expect(scene.pushes.reason()).toBe("ConnectionNotReady");
});

test("a new push to an unavailable vault, or without a connection, says what is missing", async () => {
  await using scene = await withPushSource();
  scene.vault().setDown(true);
  scene.pushes.put();
  scene.pushes.put({ connectionRef: { name: "absent" } }, "lost");
  await scene.settle(120_000);
  expect(scene.pushes.reason()).toBe("ConnectionNotReady");
  expect(scene.pushes.condition("Ready", "lost")).toMatchObject({
    reason: "ConnectionNotFound",
    message: "VaultConnection absent not found: create it, or correct spec.connectionRef",
  });
});

test("an entry that another client creates after a rejected push does not count as created", async () => {
  await using scene = await denied();
  scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "one" });
  scene.pushes.connect("vault", { scope: { secretName: ["other", "db"] } });
  await scene.settle();
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.status().items).toMatchObject([{ version: 1 }]);
  expect(scene.pushes.status().items?.[0]).not.toHaveProperty("created");
});

test("a second version that another client wrote was not created by a push without a response", async () => {
  await using scene = await SimulatedWorld.forPushes();
  let isLost = false;
  scene.vault().network = {
    send: ({ operation }) => {
      if (operation !== "protect" || isLost) return Promise.resolve(undefined);
      isLost = true;
      for (const key_value of ["theirs", "one"])
        scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value });
      return Promise.resolve({ status: 503, headers: {}, body: new Uint8Array() });
    },
  };
  scene.pushes.source({ password: "one" });
  scene.pushes.put();
  await scene.settle(60_000);
  expect(scene.pushes.versions()).toEqual(["theirs", "one"]);
  expect(scene.pushes.status().items).toMatchObject([{ version: 2 }]);
  expect(scene.pushes.status().items?.[0]).not.toHaveProperty("created");
});

test("a received secret is not replaced by an own one if the vault says that it is not shared", async () => {
  await using scene = await SimulatedWorld.forPushes();
  scene.vault().act(OTHER, "protect", { key_name: "db", key_value: "theirs" });
  const share = { permission: "RW", usr_id_from: OTHER, usr_id_to: ACCOUNT };
  scene.vault().act(OTHER, "share", { key_name: "db", ...share });
  const error = { code: "use_unshared_operation" };
  const body = Buffer.from(JSON.stringify({ error }));
  scene.vault().network = {
    send: ({ operation }) =>
      Promise.resolve(
        operation === "protect_link" ? { status: 409, headers: {}, body } : undefined,
      ),
  };
  scene.pushes.source({ password: "one" });
  scene.pushes.put({ data: [{ secretKey: "password", remoteRef: { key: "db", owner: OTHER } }] });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual([]);
  expect(scene.pushes.reason()).toBe("UnexpectedResponse");
});
