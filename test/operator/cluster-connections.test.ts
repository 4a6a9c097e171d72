import { expect, test } from "vitest";
import { accountOf, SimulatedWorld, passwordIn } from "../lab/simulated/simulated-world.ts";
import { OPERATOR_NAMESPACE } from "../lab/simulated/simulated-operator.ts";
import {
  clusterVaultConnectionKind,
  type Kind,
  vaultConnectionKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../src/operator/api/kinds.ts";
import type { ConnectionStatus } from "../../src/operator/api/vault-connection.ts";
import { CONFIG_MAPS, NAMESPACES, type ObjectRef } from "../../src/operator/kube/resource.ts";

const corporate = { name: "corporate" };
const account = accountOf(corporate);
const db = { namespace: "shop", name: "db" };
const team = { team: "shop" };
const allow = (secrets: string[], files: string[] = []): object => ({
  access: [{ namespaceSelector: { matchLabels: team }, secrets, files }],
});

function connectionStatus(
  scene: SimulatedWorld,
  kind: Kind,
  ref: ObjectRef,
): Partial<ConnectionStatus> {
  return scene.server.get(kind, ref)["status"] ?? {};
}

/**
 * Returns a running operator and the VaultSecret shop/db. It follows the secret shop-db through a
 * connection of the cluster.
 */
async function sceneWith(spec: object = allow(["shop-*"])): Promise<SimulatedWorld> {
  const scene = new SimulatedWorld({ passwordIn, immediateVaults: true });
  scene.namespace("shop", team);
  scene.connectAccount(corporate, spec);
  scene.vault().writeAs(accountOf(corporate), ["shop-db", "other"]);
  scene.follow({ password: "shop-db" }, { ...db, connection: corporate });
  scene.start();
  await scene.settle();
  return scene;
}

test("an allowed resource is synced with the credentials of the operator's namespace", async () => {
  await using scene = await sceneWith();
  expect(scene.outcome()).toBe(`password=${account} shop-db 1, Synced`);
  const passwords = scene.vault().calls.flatMap(({ password }) => password ?? []);
  expect(passwords).toEqual([passwordIn(OPERATOR_NAMESPACE)]);
  expect(connectionStatus(scene, clusterVaultConnectionKind, corporate)).toMatchObject({
    users: 1,
    secrets: 2,
  });
  expect(scene.conditionOf(clusterVaultConnectionKind, corporate)?.reason).toBe("Synced");
});

test.each<[what: string, spec: object, message: string]>([
  [
    "without access",
    {},
    "spec.access of ClusterVaultConnection corporate has no entry for the namespace shop",
  ],
  [
    "with an access that selects others",
    { access: [{ namespaceSelector: { matchLabels: { team: "blog" } } }] },
    "no entry for",
  ],
  [
    "with an entry without secrets",
    { access: [{ namespaceSelector: { matchLabels: team }, files: ["*"] }] },
    "to read shop-db",
  ],
  [
    "with other names",
    allow(["blog-*", "shop"]),
    "spec.access[].secrets of ClusterVaultConnection corporate does not allow",
  ],
])("a connection %s serves no resource, and nothing is read", async (_, spec, message) => {
  await using scene = await sceneWith(spec);
  expect(scene.outcome()).toBe("absent, NamespaceNotAllowed");
  expect(scene.conditionOf(vaultSecretKind, db)?.message).toContain(message);
  expect(scene.conditionOf(vaultSecretKind, db, "Stalled")?.status).toBe("True");
  expect(scene.vault().takeReads()).toEqual([]);
});

test("a missing name is shown with a near one that the namespace may read, without the account", async () => {
  const scene = await sceneWith(allow(["shop-*"]));
  await using _ = scene;
  scene.vault().writeAs(accountOf(corporate), ["shop-db"]);
  scene.follow({ password: "shop-bd" }, { ...db, connection: corporate });
  await scene.settle();
  const message = (): string => scene.conditionOf(vaultSecretKind, db)?.message ?? "";
  expect(message()).toMatch(
    /^shop-bd is not in the list of ClusterVaultConnection corporate: .*did you mean shop-db\?/u,
  );
  expect(message()).not.toContain(account);
  scene.follow({ password: "shop-kye" }, { ...db, connection: corporate });
  // One edit away, and nearer than all that the namespace may read.
  scene.vault().writeAs(accountOf(corporate), ["shap-kye"]);
  await scene.settle();
  expect(message()).toMatch(/^shop-kye is not in the list/u);
  expect(message()).not.toContain("did you mean");
});

test("a resource with one name that is not allowed keeps all of its keys", async () => {
  await using scene = await sceneWith();
  scene.follow({ password: "shop-db", other: "other" }, { ...db, connection: corporate });
  await scene.settle();
  scene.vault().takeReads();
  scene.vault().writeAs(accountOf(corporate), ["shop-db"]);
  await scene.settle();
  expect(scene.outcome()).toBe(`password=${account} shop-db 1, NamespaceNotAllowed`);
  expect(scene.conditionOf(vaultSecretKind, db)?.message).toContain("to read other:");
  expect(scene.vault().takeReads()).toEqual([]);
  scene.follow({ password: "shop-db" }, { ...db, connection: corporate });
  await scene.settle();
  expect(scene.outcome()).toBe(`password=${account} shop-db 3, Synced`);
});

test.each<
  [how: string, lose: (scene: SimulatedWorld) => void, regain: (scene: SimulatedWorld) => void]
>([
  [
    "of another label",
    (scene) => scene.label("shop", { team: "blog" }),
    (scene) => scene.label("shop", team),
  ],
  [
    "of a changed access",
    (scene) => scene.connectAccount(corporate, {}),
    (scene) => scene.connectAccount(corporate, allow(["shop-*"])),
  ],
])(
  "a namespace that loses its access because %s keeps its targets, and continues later",
  async (_, lose, regain) => {
    await using scene = await sceneWith();
    scene.vault().calls.length = 0;
    lose(scene);
    await scene.settle(1_000);
    expect(scene.outcome()).toBe(`password=${account} shop-db 1, NamespaceNotAllowed`);
    scene.vault().writeAs(accountOf(corporate), ["shop-db"]);
    await scene.settle();
    await scene.restart();
    await scene.settle();
    expect(scene.outcome()).toBe(`password=${account} shop-db 1, NamespaceNotAllowed`);
    expect(scene.vault().takeReads()).toEqual([]);
    regain(scene);
    await scene.settle(1_000);
    expect(scene.outcome()).toBe(`password=${account} shop-db 3, Synced`);
  },
);

test("find finds what the namespace may read, and the target is kept when that changes", async () => {
  await using scene = await sceneWith(allow(["shop-*", "blog"]));
  scene.vault().writeAs(accountOf(corporate), ["shop-db", "blog", "other"]);
  scene.put(vaultSecretKind, db, {
    connectionRef: { kind: "ClusterVaultConnection", ...corporate },
    dataFrom: [{ find: { name: { regexp: "o" } } }],
  });
  await scene.settle();
  const found = `blog=${account} blog 4 shop-db=${account} shop-db 3`;
  expect(scene.outcome()).toBe(`${found}, Synced`);
  expect(
    scene
      .vault()
      .takeReads()
      .filter((read) => read.includes("other")),
  ).toEqual([]);
  scene.connectAccount(corporate, allow(["shop-*"]));
  await scene.settle(1_000);
  scene.vault().writeAs(accountOf(corporate), ["shop-db", "blog"]);
  await scene.settle();
  expect(scene.outcome()).toBe(`${found}, NamespaceNotAllowed`);
  expect(scene.vault().takeReads()).toEqual([]);
});

test("a changed access does not reopen the connection", async () => {
  await using scene = await sceneWith();
  scene.connectAccount(corporate, allow(["*"]));
  await scene.settle();
  scene.connectAccount(corporate, {});
  await scene.settle();
  expect(scene.vault().calls.filter(({ password }) => password !== undefined)).toHaveLength(1);
});

test("connections of both kinds that have the same name are different ones", async () => {
  await using scene = await sceneWith();
  const own = { namespace: "shop", name: "corporate" };
  scene.connectAccount(own);
  scene.vault().writeAs(accountOf(own), ["shop-db"]);
  scene.follow({ password: "shop-db" }, { name: "own", connection: own });
  await scene.settle();
  expect(scene.outcome("own")).toBe(`password=${accountOf(own)} shop-db 3, Synced`);
  expect(scene.outcome()).toBe(`password=${account} shop-db 1, Synced`);
  expect(connectionStatus(scene, vaultConnectionKind, own)).toMatchObject({ users: 1, secrets: 1 });
  expect(connectionStatus(scene, clusterVaultConnectionKind, corporate)).toMatchObject({
    users: 1,
    secrets: 2,
  });
  scene.server.delete(vaultConnectionKind, own);
  await scene.settle();
  expect(scene.outcome("own")).toContain(", ConnectionNotFound");
  expect(scene.outcome()).toContain(", Synced");
});

test("a value that one namespace read is not available to others; files have their own names", async () => {
  await using scene = await sceneWith(allow(["shop-*"], ["app/*"]));
  scene.namespace("blog", { team: "blog" });
  scene.vault().upload(account, "app/web.conf", Buffer.from("file"));
  scene.follow({ password: "shop-db" }, { namespace: "blog", connection: corporate });
  scene.followFiles({ namespace: "shop", name: "web" }, corporate, ["app/web.conf"]);
  scene.followFiles({ namespace: "shop", name: "secret" }, corporate, ["shop-db"]);
  await scene.settle();
  expect(scene.outcome("db", "blog")).toBe("absent, NamespaceNotAllowed");
  expect(scene.outcome("web", "shop", vaultFileKind)).toBe("key-0=file, Synced");
  expect(scene.outcome("secret", "shop", vaultFileKind)).toBe("absent, NamespaceNotAllowed");
  expect(
    scene.conditionOf(vaultFileKind, { namespace: "shop", name: "secret" })?.message,
  ).toContain("spec.access[].files");
});

test("a read that is in progress is aborted when its namespace loses the access", async () => {
  const scene = new SimulatedWorld({ passwordIn, immediateVaults: true });
  await using _ = scene;
  let aborted = 0;
  scene.vault().network = {
    send: async ({ operation }, signal) => {
      if (!operation.includes("expose")) return undefined;
      signal.addEventListener("abort", () => (aborted += 1), { once: true });
      await scene.clock.sleep(9_000, signal);
      return undefined;
    },
  };
  scene.namespace("shop", team);
  scene.connectAccount(corporate, allow(["shop-*"]));
  scene.vault().writeAs(accountOf(corporate), ["shop-db"]);
  scene.follow({ password: "shop-db" }, { ...db, connection: corporate });
  scene.start();
  await scene.settle(5_000);
  expect(scene.vault().takeReads()).toEqual([`${account} shop-db`]);
  scene.label("shop", {});
  await scene.settle(100);
  expect(aborted).toBe(1);
  expect(scene.outcome()).toBe("absent, NamespaceNotAllowed");
});

test("what a rule finds is read only as far as the access allows, also if it changes meanwhile", async () => {
  const scene = new SimulatedWorld({ passwordIn, immediateVaults: true });
  await using _ = scene;
  scene.vault().network = {
    send: async ({ operation }, signal) => {
      if (operation.includes("expose")) await scene.clock.sleep(4_000, signal);
      return undefined;
    },
  };
  scene.namespace("shop", team);
  scene.connectAccount(corporate, allow(["shop-*"]));
  scene.vault().writeAs(accountOf(corporate), ["shop-db", "shop-api", "blog-db"]);
  const spec = { data: undefined, dataFrom: [{ find: { name: { regexp: "-" } } }] };
  scene.follow({}, { ...db, connection: corporate, ...spec });
  scene.start();
  await scene.settle(3_000);
  expect(scene.vault().takeReads().sort()).toEqual([`${account} shop-api`, `${account} shop-db`]);
  scene.connectAccount(corporate, allow(["shop-api"]));
  await scene.settle();
  expect(scene.vault().takeReads()).toEqual([`${account} shop-api`]);
  expect(scene.outcome()).toBe(`shop-api=${account} shop-api 2, Synced`);
});

test("the access of a new spec does not count for the account of the one before", async () => {
  await using scene = await sceneWith({});
  scene.network = {
    send: ({ resource, signal }) =>
      resource === CONFIG_MAPS ? scene.clock.sleep(10_000, signal) : undefined,
  };
  const email = accountOf({ name: "narrow" });
  scene.vault().setPassword(email, passwordIn(OPERATOR_NAMESPACE));
  scene.connectAccount(corporate, {
    ...allow(["*"]),
    email,
    caBundleRef: { kind: "ConfigMap", name: "ca" },
  });
  await scene.settle();
  expect(scene.vault().takeReads()).toEqual([]);
  await scene.settle();
  expect(scene.conditionOf(clusterVaultConnectionKind, corporate)?.message).toContain(
    "not found in namespace vaultsync-system",
  );
  expect(scene.conditionOf(vaultSecretKind, db)?.reason).toBe("ConnectionNotReady");
});

test("a namespace that the watch does not show yet gets nothing, and no verdict", async () => {
  await using scene = await sceneWith();
  for (const watch of scene.server.watches(NAMESPACES)) watch.drop();
  scene.network = { watchLagMs: ({ resource }) => (resource === NAMESPACES ? 20_000 : 5) };
  await scene.settle();
  const late = { namespace: "late", name: "db" };
  scene.vault().takeReads();
  scene.namespace("late", team);
  scene.follow({ password: "shop-db" }, { ...late, connection: corporate });
  await scene.settle();
  expect(scene.outcome("db", "late")).toBe("absent, undefined");
  expect(scene.vault().takeReads()).toEqual([]);
  await scene.settle(15_000);
  expect(scene.outcome("db", "late")).toBe(`password=${account} shop-db 1, Synced`);
});

test("a failing watch of namespaces takes nothing away", async () => {
  await using scene = await sceneWith();
  scene.network = {
    send: ({ resource }) => {
      if (resource === NAMESPACES) throw new Error("the API server does not respond");
    },
  };
  for (const watch of scene.server.watches(NAMESPACES)) watch.drop();
  await scene.settle(60_000);
  scene.vault().writeAs(accountOf(corporate), ["shop-db"]);
  await scene.settle();
  expect(scene.outcome()).toBe(`password=${account} shop-db 3, Synced`);
});

test("a secret deleted while its namespace had no access is missing, not removed at its deadline", async () => {
  await using scene = await sceneWith();
  scene.vault().writeAs(accountOf(corporate), ["shop-db"], { delete_time: 1 });
  await scene.settle();
  expect(connectionStatus(scene, vaultSecretKind, db)).toMatchObject({
    items: [{ deleteAt: expect.any(String) }],
  });
  scene.label("shop", {});
  await scene.settle();
  expect(connectionStatus(scene, vaultSecretKind, db)).not.toMatchObject({
    items: [{ deleteAt: expect.any(String) }],
  });
  scene.vault().act(account, "delete", { key_name: "shop-db" });
  await scene.settle(60_000);
  // Opens another client, whose first list is after the deadline.
  scene.connectAccount(corporate, { ...allow(["shop-*"]), timeout: "9s" });
  await scene.settle();
  scene.label("shop", team);
  await scene.settle();
  expect(scene.outcome()).toBe(`password=${account} shop-db 3, SourceMissing`);
});

test("names of namespaces without access are not in the scope of the token", async () => {
  await using scene = await sceneWith({ ...allow(["shop-*"]), scope: { onlyReferenced: true } });
  const scopeOf = (): string =>
    connectionStatus(scene, clusterVaultConnectionKind, corporate).token?.scope ?? "";
  expect(scopeOf()).toContain("shop-db");
  scene.label("shop", {});
  await scene.settle();
  await scene.restart();
  await scene.settle();
  expect(scopeOf()).not.toContain("shop-db");
});

test("an operator for some namespaces says that it cannot use connections of the cluster", async () => {
  const scene = new SimulatedWorld({ passwordIn, immediateVaults: true });
  await using _ = scene;
  scene.namespace("shop", team);
  scene.connectAccount(corporate, allow(["*"]));
  scene.follow({ password: "shop-db" }, { ...db, connection: corporate });
  const users = new Set<string>();
  scene.network = { send: ({ resource }) => void users.add(resource.plural) };
  scene.start({ namespaces: ["shop"] });
  await scene.settle();
  expect(scene.conditionOf(vaultSecretKind, db)).toMatchObject({
    reason: "ConnectionNotFound",
    message:
      "ClusterVaultConnection corporate cannot be used: this operator serves some namespaces only (--namespaces). Refer to a VaultConnection",
  });
  expect(
    [...users].filter((plural) => plural === "namespaces" || plural === "clustervaultconnections"),
  ).toEqual([]);
  expect(scene.vault().calls).toEqual([]);
});
