import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { KubeClient } from "../../../src/operator/kube/client/kube-client.ts";
import { Reflector } from "../../../src/operator/kube/cache/reflector.ts";
import { SECRETS, type KubeObject } from "../../../src/operator/kube/resource.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { matches } from "../../lab/control-plane/audit.ts";
import { chosenRelease, oldest } from "../../lab/control-plane/binaries/version.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { connect } from "./connect.ts";

const forever = new AbortController().signal;

let controlPlane: ControlPlane;
let client: KubeClient;

beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  client = await connect(controlPlane.kubeconfigPath);
});

afterAll(() => client[Symbol.asyncDispose]());

interface Watched {
  readonly namespace: string;
  readonly reflector: Reflector<string>;
  readonly changes: string[];
}

async function watchSecrets(api: KubeClient = client): Promise<Watched> {
  const namespace = await controlPlane.createNamespace("kube-reflector");
  const changes: string[] = [];
  const stop = new AbortController();
  const reflector = new Reflector({
    api,
    resource: SECRETS,
    namespace,
    labelSelector: "watched=yes",
    metadataOnly: true,
    project: (object) => JSON.stringify(object),
    clock: systemClock,
    random: () => 0,
    logger: silentLogger,
  });
  reflector.onChange(
    ({ type, key }) => void changes.push(`${type} ${key.slice(namespace.length + 1)}`),
  );
  await client.create(SECRETS, secret(namespace, "first"), forever);
  const running = reflector.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  await reflector.synced;
  return { namespace, reflector, changes };
}

function secret(
  namespace: string,
  name: string,
  labels: Record<string, string> = { watched: "yes" },
): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name, labels },
    stringData: { key: "canary-4b8d1f60ce93a275" },
  };
}

test("a metadata watch sees changes, deletions and recreations of its label, no value", async () => {
  const { namespace, reflector, changes } = await watchSecrets();
  await client.create(SECRETS, secret(namespace, "unrelated", {}), forever);
  const second = await client.create(SECRETS, secret(namespace, "second"), forever);
  const edited = await client.replace(
    SECRETS,
    { ...second, stringData: { key: "edited" } },
    forever,
  );
  await client.delete(SECRETS, { namespace, name: "first" }, forever);
  await client.create(SECRETS, secret(namespace, "first"), forever);
  await client.replace(
    SECRETS,
    { ...edited, metadata: { ...edited.metadata, labels: {} } },
    forever,
  );
  await expect.poll(() => changes.length).toBe(6);
  expect(changes).toEqual([
    "added first",
    "added second",
    "updated second",
    "deleted first",
    "added first",
    "deleted second",
  ]);
  const kept = [...reflector.store.values()].join();
  expect(kept).toContain('"kind":"Secret"');
  expect(kept).not.toContain('"data":');
  expect(kept).not.toContain(
    Buffer.from("canary-4b8d1f60ce93a275").toString("base64").slice(0, 16),
  );
});

test("a reset connection loses no event and causes no second list", async () => {
  await using proxy = await controlPlane.connectionProxy();
  const kubeconfig = await controlPlane.kubeconfigFor({ user: "admin" }, { server: proxy.server });
  await using through = await connect(kubeconfig);
  const { namespace, reflector, changes } = await watchSecrets(through);
  await expect.poll(() => reflector.state.name).toBe("Watching");
  proxy.refuse(true);
  proxy.dropAll();
  await client.create(SECRETS, secret(namespace, "meanwhile"), forever);
  await client.delete(SECRETS, { namespace, name: "first" }, forever);
  proxy.refuse(false);
  await expect
    .poll(() => changes, { timeout: 20_000 })
    .toEqual(["added first", "added meanwhile", "deleted first"]);
  const lists = (await controlPlane.auditEvents()).filter(
    (event) =>
      matches(event, { resource: "secrets", namespace }) &&
      event.responseStatus?.code === 200 &&
      (event.verb === "list" || event.requestURI.includes("sendInitialEvents=true")),
  );
  // The oldest release does not stream lists.
  expect(lists.map(({ verb }) => verb)).toEqual([chosenRelease() === oldest ? "list" : "watch"]);
});
