import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeClient } from "../../../src/operator/kube/client/kube-client.ts";
import { isKubeError, type KubeErrorKind } from "../../../src/operator/kube/kube-error.ts";
import {
  type KubeObject,
  type ResourceDescriptor,
  CUSTOM_RESOURCE_DEFINITIONS,
} from "../../../src/operator/kube/resource.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { connect } from "./connect.ts";

const forever = new AbortController().signal;
const group = `g${randomBytes(4).toString("hex")}.vaultsync.test`;
const WIDGETS: ResourceDescriptor = {
  group,
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};
let client: KubeClient;
let namespace: string;

beforeAll(async () => {
  const controlPlane = await sharedControlPlane();
  client = await connect(controlPlane.kubeconfigPath);
  namespace = await controlPlane.createNamespace("kube-status");
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition(), forever);
  await served();
});

afterAll(async () => {
  await client.delete(CUSTOM_RESOURCE_DEFINITIONS, { name: `widgets.${group}` }, forever);
  await client[Symbol.asyncDispose]();
});

/** Waits until the API server serves the new kind. */
async function served(): Promise<void> {
  await waitUntil("the API server serves widgets", async () => {
    const reading = client.get(WIDGETS, { namespace, name: "none" }, forever);
    return (await kindOf(reading)) === "NotFound";
  });
}

function definition(): KubeObject {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { ...anything, required: ["size"] }, status: anything },
    },
  };
  const version = { name: "v1", served: true, storage: true, subresources: { status: {} }, schema };
  const names = { plural: "widgets", singular: "widget", kind: "Widget" };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: { group, scope: "Namespaced", names, versions: [version] },
  };
}

function create(name: string): Promise<KubeObject> {
  const metadata = { namespace, name, labels: { a: "b" }, finalizers: ["vaultsync.test/hold"] };
  return client.create(
    WIDGETS,
    { apiVersion: `${group}/v1`, kind: "Widget", metadata, spec: { size: 1 } },
    forever,
  );
}

async function kindOf(call: Promise<unknown>): Promise<KubeErrorKind | undefined> {
  const error: unknown = await call.catch((caught: unknown) => caught);
  return isKubeError(error) ? error.kind : undefined;
}

test("replaceStatus replaces the whole status and nothing else", async () => {
  const created = await create("whole");
  const first = await client.replaceStatus(
    WIDGETS,
    created.metadata,
    { ready: true, old: 1 },
    forever,
  );
  const second = await client.replaceStatus(WIDGETS, first.metadata, { ready: false }, forever);
  expect(second["status"]).toEqual({ ready: false });
  expect(second["spec"]).toEqual({ size: 1 });
  expect(second.metadata).toMatchObject({
    generation: 1,
    labels: { a: "b" },
    finalizers: ["vaultsync.test/hold"],
  });
});

test("replaceStatus for another version or another object is a Conflict", async () => {
  const created = await create("conflict");
  const { name, uid, resourceVersion } = created.metadata;
  await client.replace(WIDGETS, { ...created, spec: { size: 2 } }, forever);
  expect(
    await kindOf(
      client.replaceStatus(
        WIDGETS,
        { namespace, name, uid, resourceVersion },
        { ready: true },
        forever,
      ),
    ),
  ).toBe("Conflict");
  const another = { namespace, name, uid: "00000000-0000-0000-0000-000000000000" };
  expect(await kindOf(client.replaceStatus(WIDGETS, another, { ready: true }, forever))).toBe(
    "Conflict",
  );
  expect((await client.get(WIDGETS, created.metadata, forever))["status"]).toBeUndefined();
});

test("replaceStatus with an equal status keeps the resourceVersion", async () => {
  const created = await create("same");
  const first = await client.replaceStatus(WIDGETS, created.metadata, { ready: true }, forever);
  const second = await client.replaceStatus(WIDGETS, first.metadata, { ready: true }, forever);
  expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
});
