import { silentLogger } from "../../../lib/logger.ts";
import { expect, test } from "vitest";
import { certificate } from "../../../../test/lab/certificates.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { InMemoryKubeApi } from "../../../../test/lab/kube/in-memory-kube-api.ts";
import { testRemovalFacts } from "../../../../test/lab/vault/open-connection.ts";
import { InMemoryConnection } from "../../../../test/lab/vault/in-memory-connection.ts";
import { vaultConnectionKind } from "../../api/kinds.ts";
import { connectionStatus, type ConnectionStatus } from "../../api/vault-connection.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { ObjectStore } from "../../kube/cache/object-store.ts";
import { BlastLimits } from "./blast-limit.ts";
import { type ConnectionRequest, ConnectionReconciler } from "./connection-reconciler.ts";
import { ConnectionRegistry } from "./connection-registry.ts";

const KEY = "shop/vault";
const signal = new AbortController().signal;

/** A connection that records what the reconciler asks of it. */
class RecordedConnection extends InMemoryConnection {
  readonly bundles: (string | undefined)[] = [];
  credentialChanges = 0;

  override updateCa(ca?: string): void {
    this.bundles.push(ca);
  }

  override credentialsChanged(): void {
    this.credentialChanges += 1;
  }
}

/** The VaultConnection `shop/vault` and everything that reconciles it. */
class Scene {
  readonly clock = new VirtualClock();
  readonly api = new InMemoryKubeApi();
  readonly requests: ConnectionRequest[] = [];
  readonly opened: RecordedConnection[] = [];
  readonly events: string[] = [];
  readonly #resources = new ObjectStore<KubeObject>();
  readonly registry = new ConnectionRegistry({
    clock: this.clock,
    blastLimits: new BlastLimits(),
    exists: (key) => this.#resources.has(key),
    users: () => ({
      onSnapshotChange: () => undefined,
      onProven: () => undefined,
      onConnectionStateChange: () => undefined,
      mayRemoveEntries: () => false,
      removalFactsOf: () => testRemovalFacts,
    }),
    reporter: () => ({ statusChanged: () => undefined, circuitChanged: () => undefined }),
  });
  readonly reconciler = new ConnectionReconciler({
    resources: this.#resources,
    namespace: "vaultsync-system",
    tokenAudiences: [],
    connections: this.registry,
    connectionFactory: (request, callbacks) => {
      this.requests.push(request);
      const connection = new RecordedConnection(this.clock, callbacks);
      this.opened.push(connection);
      return connection;
    },
    usersOf: () => 0,
    referencesOf: () => ({ secrets: new Set(), files: new Set() }),
    api: this.api,
    events: { record: ({ reason }) => void this.events.push(reason) },
    clock: this.clock,
    logger: silentLogger,
  });

  constructor(spec: object = {}, status?: ConnectionStatus) {
    this.setSpec(spec, status);
  }

  setSpec(spec: object, status?: ConnectionStatus): void {
    const metadata = { name: "vault", namespace: "shop", uid: "uid-1", generation: 1 };
    const auth = { passwordSecretRef: { name: "login" } };
    const complete = { url: "https://vault.example.com", email: "ops@example.com", auth, ...spec };
    this.api.put("vaultconnections", {
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultConnection",
      metadata,
      spec: complete,
      ...(status && { status }),
    });
  }

  object(): KubeObject {
    return this.api.objects.get(`vaultconnections/${KEY}`)!;
  }

  /** Shows this state of the VaultConnection to the reconciler. */
  watch(object: KubeObject | undefined): void {
    if (object === undefined) this.#resources.delete(KEY, this.object().metadata.uid);
    else
      this.#resources.set(KEY, {
        uid: object.metadata.uid,
        resourceVersion: undefined,
        value: object,
      });
  }

  /** Reconciles and returns the status and the time until the next reconcile. */
  async reconcile(): Promise<ConnectionStatus & { readonly waitMs: number | undefined }> {
    const object = await this.api.get(vaultConnectionKind, { namespace: "shop", name: "vault" });
    this.#resources.set(KEY, {
      uid: object.metadata.uid,
      resourceVersion: object.metadata.resourceVersion,
      value: object,
    });
    const result = await this.reconciler.reconcile(KEY, signal);
    const written = await this.api.get(vaultConnectionKind, { namespace: "shop", name: "vault" });
    const waitMs = result.outcome === "done" ? result.wait?.atMostMs : undefined;
    return { ...connectionStatus.parse(written.status ?? {}), waitMs };
  }
}

const configMap = (data: object): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "vault-ca", namespace: "shop" },
  data,
});
const caBundleRef = { kind: "ConfigMap", name: "vault-ca" };
const secret = (text: string): KubeObject => ({
  ...configMap({ pem: Buffer.from(text).toString("base64") }),
  kind: "Secret",
});
const ready = ({ conditions = [] }: ConnectionStatus): string => {
  const { status, reason, message } = conditions.find(({ type }) => type === "Ready") ?? {};
  return `${status} ${reason}: ${message}`;
};

test("a connection without a CA bundle trusts the public authorities", async () => {
  const scene = new Scene();
  expect((await scene.reconcile()).waitMs).toBeUndefined();
  expect(scene.requests).toMatchObject([{ key: KEY, ca: undefined, loginPause: undefined }]);
});

test("a CA bundle is read before the connection is opened, and again while it is missing", async () => {
  const ca = certificate("ca").cert;
  const scene = new Scene({ caBundleRef });
  const missing = await scene.reconcile();
  expect(ready(missing)).toContain(
    "False InvalidCaBundle: spec.caBundleRef: ConfigMap vault-ca not found",
  );
  expect(scene.requests).toEqual([]);
  expect(missing.waitMs).toBe(30_000);
  scene.api.put("configmaps", configMap({ "ca.crt": "no certificate" }));
  expect(ready(await scene.reconcile())).toContain(
    "has no readable PEM certificates under the key ca.crt",
  );
  scene.api.put("configmaps", configMap({ "ca.crt": `# comment\n${ca}` }));
  await scene.reconcile();
  expect(scene.requests.map((request) => request.ca)).toEqual([ca.trim()]);
});

test("a changed CA bundle is used without opening the connection again", async () => {
  const [first, second] = [certificate("first").cert, certificate("second").cert];
  const scene = new Scene({ caBundleRef: { kind: "Secret", name: "vault-ca", key: "pem" } });
  scene.api.put("secrets", secret(first));
  await scene.reconcile();
  scene.opened[0]?.list();
  expect((await scene.reconcile()).waitMs).toBe(300_000);
  scene.api.put("secrets", secret(`${first}\n${second}`));
  await scene.reconcile();
  await scene.reconcile();
  expect(scene.opened).toHaveLength(1);
  expect(scene.opened[0]?.bundles).toEqual([`${first.trim()}\n${second.trim()}`]);
});

test("a CA bundle that breaks is reported, and the open connection keeps the last one", async () => {
  const ca = certificate("ca").cert;
  const scene = new Scene({ caBundleRef });
  scene.api.put("configmaps", configMap({ "ca.crt": ca }));
  await scene.reconcile();
  scene.opened[0]?.list();
  scene.api.put("configmaps", configMap({}));
  const status = await scene.reconcile();
  expect(ready(status)).toContain("False InvalidCaBundle");
  expect(status.conditions?.find(({ type }) => type === "Stalled")?.status).toBe("True");
  expect(scene.registry.get(KEY).state).toBe("open");
  expect(scene.opened[0]).toMatchObject({ closed: false, bundles: [] });
  scene.api.put("configmaps", configMap({ "ca.crt": ca }));
  expect(ready(await scene.reconcile())).toContain("True Synced");
});

test("another spec with an unreadable CA bundle closes the connection", async () => {
  const scene = new Scene();
  await scene.reconcile();
  scene.setSpec({ caBundleRef });
  await scene.reconcile();
  expect(scene.opened[0]?.closed).toBe(true);
  expect(scene.registry.get(KEY).state).toBe("invalid");
});

test("a pause that the status shows is continued after a restart", async () => {
  const until = "2026-11-21T13:00:00.000Z";
  const scene = new Scene({}, { loginPausedUntil: until, rejectedCredentials: "7" });
  await scene.reconcile();
  expect(scene.requests[0]?.loginPause).toEqual({ until: Date.parse(until), credentials: "7" });
});

test("a pause is published, and removed when it ends", async () => {
  const scene = new Scene();
  await scene.reconcile();
  const [connection] = scene.opened;
  connection!.loginPause = { until: Date.UTC(2026, 10, 21, 13), credentials: "7" };
  expect(await scene.reconcile()).toMatchObject({
    loginPausedUntil: "2026-11-21T13:00:00.000Z",
    rejectedCredentials: "7",
  });
  connection!.loginPause = undefined;
  const after = await scene.reconcile();
  expect(after.loginPausedUntil).toBeUndefined();
  expect(after.rejectedCredentials).toBeUndefined();
});

test("only the connections whose credentials are in a Secret learn of its change", async () => {
  const scene = new Scene({ auth: { tokenSecretRef: { name: "pair" } } });
  await scene.reconcile();
  scene.reconciler.credentialsChanged("shop/pair");
  scene.reconciler.credentialsChanged("shop/login");
  scene.reconciler.credentialsChanged("other/pair");
  expect(scene.opened[0]?.credentialChanges).toBe(1);
  scene.setSpec({ auth: { passwordSecretRef: { name: "login" } } });
  await scene.reconcile();
  scene.reconciler.credentialsChanged("shop/pair");
  scene.reconciler.credentialsChanged("shop/login");
  expect(scene.opened.map(({ credentialChanges }) => credentialChanges)).toEqual([1, 1]);
});

test.each(["absent", "terminating"])(
  "the client of an %s connection is closed, and its credentials are forgotten",
  async (how) => {
    const scene = new Scene({ caBundleRef });
    scene.api.put("configmaps", configMap({ "ca.crt": certificate("ca").cert }));
    await scene.reconcile();
    const again = {
      ...scene.object(),
      metadata: { ...scene.object().metadata, deletionTimestamp: "2026-11-21T12:00:00Z" },
    };
    scene.watch(how === "absent" ? undefined : again);
    expect(await scene.reconciler.reconcile(KEY, signal)).toEqual({ outcome: "done", gone: true });
    expect(scene.opened.map(({ closed }) => closed)).toEqual([true]);
    scene.reconciler.credentialsChanged("shop/login");
    expect(scene.opened[0]?.credentialChanges).toBe(0);
  },
);

test.each([
  ["AuthFailed", 1, "AuthFailed"],
  ["OfAnotherRelease", 1, "VaultUnreachable"],
  ["AuthFailed", 2, undefined],
])(
  "a connection that a status calls stale (%s, generation %i) is opened with the reason %s",
  async (reason, observedGeneration, expected) => {
    const staleSince = "2026-11-21T10:00:00.000Z";
    const stale = {
      type: "Stale",
      status: "True",
      reason,
      message: "",
      observedGeneration,
    } as const;
    const conditions = [{ ...stale, lastTransitionTime: staleSince }];
    const scene = new Scene({}, { conditions, staleSince });
    await scene.reconcile();
    const published = expected && { since: Date.parse(staleSince), reason: expected };
    expect(scene.registry.get(KEY)).toMatchObject({ state: "open", stale: published });
  },
);

test("the time since a connection was opened starts with its opening, and is 0 before", async () => {
  const scene = new Scene();
  await scene.clock.advance(60_000);
  expect(scene.registry.openMs(KEY)).toBe(0);
  await scene.reconcile();
  await scene.clock.advance(1_000);
  expect(scene.registry.openMs(KEY)).toBe(1_000);
});

test("a connection that is deleted while it is opened gets no status", async () => {
  const scene = new Scene({ caBundleRef });
  const get = scene.api.get.bind(scene.api);
  scene.api.get = (resource, ref) => {
    if (resource.plural === "configmaps") scene.watch(undefined);
    return get(resource, ref);
  };
  expect(await scene.reconcile()).toEqual({ waitMs: 30_000 });
});

test("an invalid spec closes the client, and the status says what is wrong", async () => {
  const scene = new Scene();
  await scene.reconcile();
  scene.setSpec({ url: "vault" });
  const status = await scene.reconcile();
  expect(ready(status)).toContain("False InvalidSpec: spec.url");
  expect(status.waitMs).toBeUndefined();
  expect(status.observedGeneration).toBe(1);
  expect(scene.opened[0]?.closed).toBe(true);
});

test("trusted owners are compared in lower case, and no other one is trusted by default", async () => {
  const scene = new Scene();
  await scene.reconcile();
  expect(scene.registry.get(KEY)).toMatchObject({
    trustedOwners: undefined,
    receive: "Trusted",
    account: "ops@example.com",
  });
  scene.setSpec({ trustedOwners: ["DBA@Example.com"], receive: "Anyone" });
  await scene.reconcile();
  expect(scene.registry.get(KEY)).toMatchObject({
    trustedOwners: new Set(["dba@example.com"]),
    receive: "Anyone",
  });
});

test.each([{ loginPausedUntil: "2026-11-21T13:00:00.000Z" }, { rejectedCredentials: "7" }])(
  "a pause of which the status shows %j only is not continued",
  async (status) => {
    const scene = new Scene({}, status);
    await scene.reconcile();
    expect(scene.requests).toMatchObject([{ loginPause: undefined }]);
  },
);

test("a connection whose CA bundle is no longer named waits for no change of it", async () => {
  const scene = new Scene({ caBundleRef });
  scene.api.put("configmaps", configMap({ "ca.crt": certificate("ca").cert }));
  expect((await scene.reconcile()).waitMs).toBe(30_000);
  scene.setSpec({});
  expect((await scene.reconcile()).waitMs).toBeUndefined();
  expect(scene.requests.at(-1)?.ca).toBeUndefined();
});
