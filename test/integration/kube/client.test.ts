import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeClient } from "../../../src/operator/kube/client/kube-client.ts";
import { loadCredentials } from "../../../src/operator/kube/credentials/load-credentials.ts";
import { KubeError, type KubeErrorKind } from "../../../src/operator/kube/kube-error.ts";
import {
  CONFIG_MAPS,
  NAMESPACES,
  SECRETS,
  type KubeObject,
  type ResourceDescriptor,
} from "../../../src/operator/kube/resource.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { connect } from "./connect.ts";

const CANARY = `canary-${randomBytes(12).toString("hex")}`;
const forever = new AbortController().signal;

let controlPlane: ControlPlane;
let client: KubeClient;
let namespace: string;
let unique = 0;

beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  client = await connect(controlPlane.kubeconfigPath);
  namespace = await controlPlane.createNamespace("kube-client");
});

afterAll(() => client[Symbol.asyncDispose]());

function secret(fields: object = {}, metadata: object = {}): KubeObject {
  unique += 1;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name: `s${unique}`, ...metadata },
    ...fields,
  };
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/**
 * Returns the error of a request that must fail, after checking that no form of it contains what
 * was sent.
 */
async function failure(call: Promise<unknown>): Promise<KubeError> {
  const error: unknown = await call.then(
    () => new Error("it succeeded"),
    (caught: unknown) => caught,
  );
  if (!(error instanceof KubeError)) throw error;
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(CANARY);
  return error;
}

test("creating an object twice is AlreadyExists", async () => {
  const object = secret({ data: { key: base64("v") } });
  const created = await client.create(SECRETS, object, forever);
  expect(created).toMatchObject({ apiVersion: "v1", kind: "Secret", data: { key: base64("v") } });
  expect(created.metadata.uid).toBeDefined();
  expect((await failure(client.create(SECRETS, object, forever))).kind).toBe("AlreadyExists");
});

test("replacing an outdated version is a Conflict and changes nothing", async () => {
  const created = await client.create(SECRETS, secret({ data: { key: base64("1") } }), forever);
  const second = await client.replace(SECRETS, { ...created, data: { key: base64("2") } }, forever);
  expect(
    (await failure(client.replace(SECRETS, { ...created, data: { key: base64("3") } }, forever)))
      .kind,
  ).toBe("Conflict");
  expect(await client.get(SECRETS, second.metadata, forever)).toMatchObject({
    data: { key: base64("2") },
  });
});

test("replacing another object of the same name is a Conflict", async () => {
  const first = await client.create(SECRETS, secret(), forever);
  await client.delete(SECRETS, first.metadata, forever);
  const second = await client.create(SECRETS, secret({}, { name: first.metadata.name }), forever);
  const { resourceVersion = "" } = second.metadata;
  const stale = { ...first, metadata: { ...first.metadata, resourceVersion } };
  expect((await failure(client.replace(SECRETS, stale, forever))).kind).toBe("Conflict");
});

test("patch changes the given fields only, and no other state of the object", async () => {
  const created = await client.create(
    SECRETS,
    secret({ data: { a: base64("1"), b: base64("2") } }, { labels: { x: "y" } }),
    forever,
  );
  const first = { ...created.metadata };
  const patch = { metadata: { annotations: { n: "1" } }, data: { a: null, c: base64("3") } };
  const patched = await client.patch(SECRETS, first, patch, forever);
  expect(patched).toMatchObject({
    metadata: { labels: { x: "y" }, annotations: { n: "1" } },
    data: { b: base64("2"), c: base64("3") },
  });
  expect(patched["data"]).not.toHaveProperty("a");
  const other = { data: { a: base64("4") } };
  expect((await failure(client.patch(SECRETS, first, other, forever))).kind).toBe("Conflict");
  await client.delete(SECRETS, patched.metadata, forever);
  expect((await failure(client.patch(SECRETS, patched.metadata, other, forever))).kind).toBe(
    "NotFound",
  );
  await client.create(SECRETS, secret({}, { name: first.name }), forever);
  expect((await failure(client.patch(SECRETS, patched.metadata, other, forever))).kind).toBe(
    "Conflict",
  );
});

test("deleting with another uid or resourceVersion is a Conflict", async () => {
  const created = await client.create(SECRETS, secret(), forever);
  const { name, uid } = created.metadata;
  expect(
    (
      await failure(
        client.delete(
          SECRETS,
          { namespace, name, uid: "00000000-0000-0000-0000-000000000000" },
          forever,
        ),
      )
    ).kind,
  ).toBe("Conflict");
  expect(
    (await failure(client.delete(SECRETS, { namespace, name, uid, resourceVersion: "1" }, forever)))
      .kind,
  ).toBe("Conflict");
  await client.delete(SECRETS, created.metadata, forever);
  expect((await failure(client.get(SECRETS, { namespace, name }, forever))).kind).toBe("NotFound");
  expect((await failure(client.delete(SECRETS, { namespace, name }, forever))).kind).toBe(
    "NotFound",
  );
});

test("apply owns its keys only, needs force for those of others, and removes its own", async () => {
  const mine = secret({ data: { mine: base64("1"), later: base64("gone") } });
  await client.apply(SECRETS, mine, {}, forever);
  await using other = await connect(controlPlane.kubeconfigPath, { fieldManager: "someone" });
  await other.apply(SECRETS, { ...mine, data: { theirs: base64("2") } }, {}, forever);
  const grab = { ...mine, data: { mine: base64("1"), theirs: base64("3") } };
  const conflict = await failure(client.apply(SECRETS, grab, {}, forever));
  expect(conflict.kind).toBe("Conflict");
  expect(conflict.causes).toEqual([
    { field: ".data.theirs", reason: "FieldManagerConflict", manager: "someone" },
  ]);
  const applied = await client.apply(
    SECRETS,
    { ...mine, data: { mine: base64("1") } },
    {},
    forever,
  );
  expect(applied["data"]).toEqual({ mine: base64("1"), theirs: base64("2") });
});

test("a metadata-only read returns no value", async () => {
  const created = await client.create(
    SECRETS,
    secret({ data: { key: base64(CANARY) } }, { labels: { a: "b" } }),
    forever,
  );
  const read = await client.getMetadata(SECRETS, created.metadata, forever);
  expect(read).toMatchObject({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { uid: created.metadata.uid, labels: { a: "b" } },
  });
  expect(JSON.stringify(read)).not.toContain(base64(CANARY).slice(0, 16));
});

test("a long list is complete over several pages, also metadata-only", async () => {
  const crowded = await controlPlane.createNamespace("kube-list");
  const names = Array.from({ length: 510 }, (_, n) => `c${n}`);
  await Promise.all(
    names.map((name) =>
      client.create(
        CONFIG_MAPS,
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { namespace: crowded, name },
          data: { a: "b" },
        },
        forever,
      ),
    ),
  );
  for (const metadataOnly of [false, true]) {
    const pages = [];
    for await (const page of client.list(
      CONFIG_MAPS,
      { namespace: crowded, metadataOnly },
      forever,
    ))
      pages.push(page.items);
    expect(pages.map((items) => items.length)).toEqual([500, 11]);
    const all = pages.flat();
    expect(new Set(all.map(({ metadata }) => metadata.name))).toEqual(
      new Set([...names, "kube-root-ca.crt"]),
    );
    expect(
      all.every(({ kind, data }) => kind === "ConfigMap" && (data === undefined) === metadataOnly),
    ).toBe(true);
  }
});

test.each<[string, () => KubeObject, KubeErrorKind]>([
  ["a key with an illegal name", () => secret({ data: { "a b": base64(CANARY) } }), "Invalid"],
  ["data that is no base64", () => secret({ data: { key: `${CANARY}!` } }), "Invalid"],
  ["a value of the wrong type", () => secret({ data: { key: { nested: CANARY } } }), "Invalid"],
  [
    "a typed Secret without its keys",
    () => secret({ type: "kubernetes.io/tls", stringData: { other: CANARY } }),
    "Invalid",
  ],
  ["an illegal label", () => secret({}, { labels: { a: `${CANARY} !` } }), "Invalid"],
  [
    "more than a Secret may hold",
    () => secret({ stringData: { key: CANARY.repeat(40_000) } }),
    "TooLarge",
  ],
  [
    "more than a request may hold",
    () => secret({ stringData: { key: CANARY.repeat(120_000) } }),
    "TooLarge",
  ],
  [
    "a namespace that is not there",
    () => secret({}, { namespace: "no-such-namespace" }),
    "NotFound",
  ],
])("%s is rejected with its kind, without quoting it", async (_, object, kind) => {
  expect((await failure(client.create(SECRETS, object(), forever))).kind).toBe(kind);
});

test("changing the type of a Secret or an immutable one is Invalid", async () => {
  const typed = await client.create(
    SECRETS,
    secret({ type: "Opaque", immutable: true, stringData: { key: "v" } }),
    forever,
  );
  for (const change of [{ type: "example.com/other" }, { data: { key: base64(CANARY) } }]) {
    const error = await failure(client.replace(SECRETS, { ...typed, ...change }, forever));
    expect(error.kind).toBe("Invalid");
    expect(error.causes.length).toBeGreaterThan(0);
  }
});

test("an exhausted quota is distinguished from a missing permission", async () => {
  const poor = await controlPlane.createNamespace("kube-quota");
  await controlPlane.request("POST", `/api/v1/namespaces/${poor}/resourcequotas`, {
    metadata: { name: "none" },
    spec: { hard: { "count/secrets": "0" } },
  });
  // The admission plugin sees a new quota and its usage with a delay.
  const attempt = (): Promise<KubeError> =>
    failure(client.create(SECRETS, secret({}, { namespace: poor, generateName: "x" }), forever));
  await expect
    .poll(async () => (await attempt().catch(() => undefined))?.kind, { timeout: 20_000 })
    .toBe("QuotaExceeded");
  const stranger = await connect(await controlPlane.kubeconfigFor({ user: "stranger" }));
  expect(
    (await failure(stranger.create(SECRETS, secret({ stringData: { key: CANARY } }), forever)))
      .kind,
  ).toBe("Forbidden");
  await stranger[Symbol.asyncDispose]();
});

test("creating an object in a terminating namespace is NamespaceTerminating", async () => {
  const dying = await controlPlane.createNamespace("kube-dying");
  const held = await client.create(
    SECRETS,
    secret({}, { namespace: dying, finalizers: ["test.vaultsync.dev/hold"] }),
    forever,
  );
  await client.delete(NAMESPACES, { name: dying }, forever);
  expect(
    (await failure(client.create(SECRETS, secret({}, { namespace: dying }), forever))).kind,
  ).toBe("NamespaceTerminating");
  const now = await client.get(SECRETS, held.metadata, forever);
  await client.replace(SECRETS, { ...now, metadata: { ...now.metadata, finalizers: [] } }, forever);
});

test("unknown credentials are Unauthorized", async () => {
  const path = await controlPlane.kubeconfigFor({ user: "stranger" });
  const credentials = await loadCredentials({ kubeconfig: path });
  const real = await credentials.access();
  credentials.access = async () => ({
    ...real,
    headers: new Redacted({ authorization: `Bearer ${CANARY}` }),
  });
  await using nobody = await connect(path, { credentials });
  expect((await failure(nobody.get(SECRETS, { namespace, name: "any" }, forever))).kind).toBe(
    "Unauthorized",
  );
});

test("a resource that is not served is NotServed", async () => {
  const nothing: ResourceDescriptor = {
    group: "no.such.group",
    version: "v1",
    plural: "things",
    kind: "Thing",
    namespaced: true,
  };
  expect((await failure(client.get(nothing, { namespace, name: "any" }, forever))).kind).toBe(
    "NotServed",
  );
});

test("hundreds of requests share a few TLS connections", async () => {
  await using proxy = await controlPlane.connectionProxy();
  const kubeconfig = await controlPlane.kubeconfigFor({ user: "admin" }, { server: proxy.server });
  await using through = await connect(kubeconfig);
  await Promise.all(Array.from({ length: 200 }, () => through.create(SECRETS, secret(), forever)));
  await Promise.all(
    Array.from({ length: 200 }, () =>
      through.getMetadata(NAMESPACES, { name: namespace }, forever),
    ),
  );
  expect(proxy.accepted).toBeLessThanOrEqual(24);
});
