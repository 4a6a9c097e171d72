import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeClient } from "../../../src/operator/kube/client/kube-client.ts";
import { NAMESPACES, CUSTOM_RESOURCE_DEFINITIONS } from "../../../src/operator/kube/resource.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { chosenRelease, newest } from "../../lab/control-plane/binaries/version.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { ApiClient } from "../../lab/simulated/api-server/api-client.ts";
import {
  type ApiCommand,
  apiCommands,
  ApiSubject,
  widgets,
} from "../../lab/simulated/api-server/api-commands.ts";
import { InMemoryApiServer } from "../../lab/simulated/api-server/in-memory-api-server.ts";
import { typeOf } from "../../lab/simulated/api-server/resource-rules.ts";
import { connect } from "./connect.ts";

const forever = new AbortController().signal;
const widget = widgets(`g${randomBytes(4).toString("hex")}.vaultsync.test`);
const end: ApiCommand = {
  op: "create",
  resource: "secrets",
  name: "end",
  client: 0,
  expected: "none",
  withUid: false,
  fields: {},
  metadata: { labels: { l: "x" } },
};

let controlPlane: ControlPlane;
let clients: [KubeClient, KubeClient];

beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  const { kubeconfigPath } = controlPlane;
  clients = [
    await connect(kubeconfigPath),
    await connect(kubeconfigPath, { fieldManager: "other" }),
  ];
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = {
    openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } },
  };
  const version = { name: "v1", served: true, storage: true, subresources: { status: {} }, schema };
  const names = { plural: "widgets", singular: "widget", kind: "Widget" };
  const spec = { group: widget.group, scope: "Namespaced", names, versions: [version] };
  const metadata = { name: `widgets.${widget.group}` };
  await clients[0].create(
    CUSTOM_RESOURCE_DEFINITIONS,
    { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata, spec },
    forever,
  );
  await waitUntil("the API server serves widgets", async () => {
    const pages = [];
    for await (const page of clients[0].list(widget, { namespace: "default" }, forever))
      pages.push(page);
    return pages.length > 0;
  });
});

afterAll(async () => {
  await clients[0].delete(
    CUSTOM_RESOURCE_DEFINITIONS,
    { name: `widgets.${widget.group}` },
    forever,
  );
  for (const client of clients) await client[Symbol.asyncDispose]();
});

// The oldest release responds with Conflict to a uid of an object that is gone.
const isModel = chosenRelease() === newest;

test.runIf(isModel)(
  "the in-memory API server responds like kube-apiserver to random requests",
  async () => {
    for (const commands of fc.sample(apiCommands, { numRuns: 20, seed: 1 })) {
      const namespace = `model-${randomBytes(4).toString("hex")}`;
      const created = await clients[0].create(
        NAMESPACES,
        { ...typeOf(NAMESPACES), metadata: { name: namespace } },
        forever,
      );
      const real = new ApiSubject(clients, namespace, widget);
      const server = new InMemoryApiServer({ clock: new VirtualClock() });
      const from = server.createNamespace(namespace).metadata.resourceVersion!;
      const model = new ApiSubject(
        [new ApiClient(server), new ApiClient(server, { fieldManager: "other" })],
        namespace,
        widget,
      );
      const { resource } = commands[0]!;
      for (const command of [...commands, { ...end, resource }]) {
        expect(await model.run(command), JSON.stringify(command)).toEqual(await real.run(command));
      }
      expect(await model.history(resource, from)).toEqual(
        await real.history(resource, created.metadata.resourceVersion!),
      );
    }
  },
);
