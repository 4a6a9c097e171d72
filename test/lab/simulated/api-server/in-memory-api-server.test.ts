import { expect, test } from "vitest";
import { vaultSecretKind } from "../../../../src/operator/api/kinds.ts";
import type { KubeApi, WatchEvent } from "../../../../src/operator/kube/client/kube-api.ts";
import {
  ALL_NAMESPACES,
  CONFIG_MAPS,
  type KubeObject,
  NAMESPACES,
  SECRETS,
} from "../../../../src/operator/kube/resource.ts";
import { VirtualClock } from "../../clock/virtual-clock.ts";
import { ApiClient } from "./api-client.ts";
import { ClusterControllers } from "./cluster-controllers.ts";
import { InMemoryApiServer } from "./in-memory-api-server.ts";
import { forbidden, StatusError } from "./status-error.ts";

const forever = new AbortController().signal;

function scene() {
  const clock = new VirtualClock();
  const server = new InMemoryApiServer({ clock });
  server.createNamespace("shop");
  return { clock, server, controllers: new ClusterControllers(server), api: new ApiClient(server) };
}

function secret(name: string, changes: object = {}, metadata: object = {}): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "shop", name, ...metadata },
    ...changes,
  };
}

const data = (value: string): object => ({ data: { key: Buffer.from(value).toString("base64") } });
const custom = (name: string, spec: object): KubeObject => ({
  ...secret(name),
  apiVersion: "vaultsync.dev/v1alpha1",
  spec,
});

test("a write without a change keeps the resourceVersion and sends no event", () => {
  const { server } = scene();
  const created = server.create(SECRETS, secret("a", data("1")));
  expect(server.replace(SECRETS, created).metadata.resourceVersion).toBe(
    created.metadata.resourceVersion,
  );
  expect(server.version).toBe(Number(created.metadata.resourceVersion));
});

test("a change of the spec advances the generation, one of the status or the metadata does not", () => {
  const { server } = scene();
  const created = server.create(vaultSecretKind, custom("a", { suspend: false }));
  const ref = { namespace: "shop", name: "a" };
  const status = server.replaceStatus(vaultSecretKind, created.metadata, { ready: true });
  const labelled = server.patch(vaultSecretKind, ref, {
    metadata: { labels: { a: "b" } },
    status: { ready: false },
  });
  expect([created, status, labelled].map(({ metadata: { generation } }) => generation)).toEqual([
    1, 1, 1,
  ]);
  expect(labelled["status"]).toEqual({ ready: true });
  expect(server.patch(vaultSecretKind, ref, { spec: { suspend: true } }).metadata.generation).toBe(
    2,
  );
});

test("apply reports the fields of other managers and removes its own that it omits", async () => {
  const { server } = scene();
  const mine = { user: "a", fieldManager: "mine" };
  server.apply(
    SECRETS,
    secret("a", { data: { mine: "MQ==", later: "MQ==" } }),
    { force: false },
    mine,
  );
  server.apply(SECRETS, secret("a", { data: { theirs: "MQ==" } }), { force: false });
  const grab = secret("a", { data: { mine: "MQ==", theirs: "Mg==" } });
  const applied = new ApiClient(server, mine).apply(SECRETS, grab, {}, forever);
  const causes = [{ field: ".data.theirs", reason: "FieldManagerConflict", manager: "kubectl" }];
  await expect(applied).rejects.toMatchObject({ kind: "Conflict", causes });
  const kept = server.apply(
    SECRETS,
    secret("a", { data: { mine: "MQ==" } }),
    { force: false },
    mine,
  );
  expect(kept["data"]).toEqual({ mine: "MQ==", theirs: "MQ==" });
});

test("a deleted object with a finalizer remains until the finalizer is removed", () => {
  const { server } = scene();
  const created = server.create(SECRETS, secret("a", {}, { finalizers: ["example.com/hold"] }));
  server.delete(SECRETS, created.metadata);
  const deleting = server.get(SECRETS, created.metadata);
  expect(deleting.metadata.deletionTimestamp).toBeDefined();
  server.replace(SECRETS, { ...deleting, metadata: { ...deleting.metadata, finalizers: [] } });
  expect(server.find(SECRETS, created.metadata)).toBeUndefined();
});

test.each(["Background", "Foreground", "Orphan"] as const)(
  "dependents follow a deletion with policy %s",
  (propagationPolicy) => {
    const { server, controllers } = scene();
    const owner = server.create(vaultSecretKind, custom("a", {}));
    const { uid = "", name } = owner.metadata;
    const ownerReferences = [
      { apiVersion: "vaultsync.dev/v1alpha1", kind: "VaultSecret", name, uid },
    ];
    server.create(SECRETS, secret("a", {}, { ownerReferences }));
    server.delete(vaultSecretKind, owner.metadata, { propagationPolicy });
    controllers.run();
    expect(server.find(vaultSecretKind, owner.metadata)).toBeUndefined();
    const left = server.find(SECRETS, { namespace: "shop", name: "a" });
    expect(left && left.metadata.ownerReferences).toBeUndefined();
    expect(left !== undefined).toBe(propagationPolicy === "Orphan");
  },
);

test("a dependent of a recreated owner is collected, because the uid differs", () => {
  const { server, controllers } = scene();
  const owner = server.create(vaultSecretKind, custom("a", {}));
  const { uid = "", name } = owner.metadata;
  const ownerReferences = [
    { apiVersion: "vaultsync.dev/v1alpha1", kind: "VaultSecret", name, uid },
  ];
  server.create(SECRETS, secret("a", {}, { ownerReferences }));
  server.delete(vaultSecretKind, owner.metadata);
  server.create(vaultSecretKind, custom("a", {}));
  controllers.run();
  expect(server.all(SECRETS)).toEqual([]);
});

test("a terminating namespace rejects new objects and is gone once it is empty", async () => {
  const { server, controllers, api } = scene();
  server.create(SECRETS, secret("a", {}, { finalizers: ["example.com/hold"] }));
  server.delete(NAMESPACES, { name: "shop" });
  await expect(api.create(SECRETS, secret("b"), forever)).rejects.toMatchObject({
    kind: "NamespaceTerminating",
  });
  controllers.run();
  expect(server.all(NAMESPACES)).toHaveLength(1);
  server.erase(SECRETS, { namespace: "shop", name: "a" });
  controllers.run();
  expect(server.all(NAMESPACES)).toEqual([]);
});

const labelled = (value: string) => ({ labels: { watched: value } });

async function eventsOf(events: AsyncIterable<WatchEvent>, seen: string[]): Promise<void> {
  for await (const event of events) {
    const what = event.type === "bookmark" ? event.resourceVersion : event.object.metadata.name;
    seen.push(`${event.type} ${what}`);
  }
}

test("a watch shows the changes that its selector matches, before and after", async () => {
  const { clock, server, api } = scene();
  server.create(SECRETS, secret("a", {}, labelled("yes")));
  const from = { namespace: "shop", resourceVersion: `${server.version}`, timeoutSeconds: 90 };
  const seen: string[] = [];
  const watching = eventsOf(
    api.watch(SECRETS, { ...from, labelSelector: "watched=yes" }, forever),
    seen,
  );
  server.create(SECRETS, secret("b", {}, labelled("no")));
  server.patch(
    SECRETS,
    { namespace: "shop", name: "a" },
    { type: "Opaque", metadata: labelled("no") },
  );
  server.patch(SECRETS, { namespace: "shop", name: "b" }, { metadata: labelled("yes") });
  server.delete(SECRETS, { namespace: "shop", name: "b" });
  const last = server.version;
  await clock.advance(90_000);
  await watching;
  expect(seen).toEqual(["deleted a", "added b", "deleted b", `bookmark ${last}`]);
});

test("a watch continues from an old version until the history is compacted", async () => {
  const { clock, server, api } = scene();
  const from = {
    namespace: ALL_NAMESPACES,
    resourceVersion: `${server.version}`,
    timeoutSeconds: 10,
  };
  server.create(CONFIG_MAPS, secret("a"));
  const seen: string[] = [];
  const watching = eventsOf(api.watch(CONFIG_MAPS, from, forever), seen);
  await clock.advance(10_000);
  await watching;
  expect(seen).toEqual(["added a"]);
  server.compact();
  await expect(eventsOf(api.watch(CONFIG_MAPS, from, forever), [])).rejects.toMatchObject({
    kind: "Gone",
  });
});

test("a watch with a lag delivers each change later, and in order", async () => {
  const { clock, server } = scene();
  const api = new ApiClient(server, { network: { watchLagMs: () => 1_000 } });
  const seen: string[] = [];
  const abort = new AbortController();
  const from = { namespace: "shop", resourceVersion: `${server.version}`, timeoutSeconds: 60 };
  const watching = eventsOf(api.watch(SECRETS, from, abort.signal), seen);
  await clock.advance(0);
  server.create(SECRETS, secret("a"));
  await clock.advance(999);
  expect(seen).toEqual([]);
  await clock.advance(1);
  expect(seen).toEqual(["added a"]);
  abort.abort(new Error("enough"));
  await expect(watching).rejects.toThrow("enough");
  expect(clock.pending).toBe(0);
});

function fail(): never {
  throw new StatusError(504, "Timeout");
}

test("a request whose response is lost was carried out, one that is lost itself was not", async () => {
  const { server } = scene();
  const lost = new ApiClient(server, { network: { send: fail } });
  await expect(lost.create(SECRETS, secret("a"), forever)).rejects.toMatchObject({
    kind: "Timeout",
  });
  expect(server.all(SECRETS)).toEqual([]);
  const ambiguous = new ApiClient(server, { network: { respond: fail } });
  await expect(ambiguous.create(SECRETS, secret("a"), forever)).rejects.toMatchObject({
    kind: "Timeout",
  });
  expect(server.all(SECRETS)).toHaveLength(1);
});

test("authorization, a quota, a webhook and the fence reject a write each in its own way", async () => {
  const { server, api } = scene();
  const create = (client: KubeApi = api) => client.create(SECRETS, secret("a", data("1")), forever);
  await expect(
    create(api.fenced({ mayWrite: () => false, writeTimeoutMs: () => 0 })),
  ).rejects.toMatchObject({
    kind: "NotLeader",
  });
  server.authorize = ({ verb }) => verb !== "create";
  await expect(create()).rejects.toMatchObject({ kind: "Forbidden" });
  server.authorize = () => true;
  server.quotas.set("shop/secrets", 0);
  await expect(create()).rejects.toMatchObject({ kind: "QuotaExceeded" });
  server.quotas.clear();
  server.webhooks.push((object, before) => {
    if (before) throw forbidden("denied the request");
    return { ...object, metadata: { ...object.metadata, labels: { added: "yes" } } };
  });
  const created = await create();
  expect(created.metadata.labels).toEqual({ added: "yes" });
  await expect(api.replace(SECRETS, { ...created, ...data("2") }, forever)).rejects.toMatchObject({
    kind: "Forbidden",
  });
});

test("an unserved resource responds with a bare 404 and loses its objects", async () => {
  const { server, controllers, api } = scene();
  server.create(vaultSecretKind, custom("a", {}));
  server.unserve(vaultSecretKind);
  controllers.run();
  await expect(
    api.get(vaultSecretKind, { namespace: "shop", name: "a" }, forever),
  ).rejects.toMatchObject({ kind: "NotServed" });
  server.serve(vaultSecretKind);
  await expect(
    api.get(vaultSecretKind, { namespace: "shop", name: "a" }, forever),
  ).rejects.toMatchObject({ kind: "NotFound" });
});

// A write passed its fence, waited for its process, and was carried out when another one had the
// Lease.
test("a suspended process checks its fence when it continues, and receives no event until then", async () => {
  const { server } = scene();
  const resumed = Promise.withResolvers<void>();
  const suspension: { ended?: Promise<void> } = {};
  const client = new ApiClient(server, { network: { running: () => suspension.ended } });
  const options = { namespace: "shop", resourceVersion: `${server.version}`, timeoutSeconds: 60 };
  const event = client.watch(SECRETS, options, forever)[Symbol.asyncIterator]().next();
  await Promise.resolve();
  suspension.ended = resumed.promise;
  const fence = { isHeld: true };
  const fenced = client.fenced({ mayWrite: () => fence.isHeld, writeTimeoutMs: () => 1_000 });
  const written = fenced.create(SECRETS, secret("a"), forever);
  const received: unknown[] = [];
  void event.then(({ value }) => received.push(value));
  server.create(SECRETS, secret("b"));
  await new Promise((resolve) => setImmediate(resolve));
  expect(received).toEqual([]);
  fence.isHeld = false;
  resumed.resolve();
  await expect(written).rejects.toMatchObject({ kind: "NotLeader" });
  expect(await event).toMatchObject({
    value: { type: "added", object: { metadata: { name: "b" } } },
  });
  expect(server.all(SECRETS)).toHaveLength(1);
});
