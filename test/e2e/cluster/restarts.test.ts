import { afterAll, beforeAll, expect, test } from "vitest";
import { KubeClient } from "../../../src/operator/kube/client/kube-client.ts";
import { loadCredentials } from "../../../src/operator/kube/credentials/load-credentials.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { ConnectionProxy } from "../../lab/control-plane/connection-proxy.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { World } from "../../lab/real/world.ts";
import { bytesOf, condition, vaultSecret } from "../../lab/real/resources.ts";

/**
 * The operator recovers without intervention when it is killed, the API server restarts, or
 * connections drop.
 */
let proxy: ConnectionProxy;
let world: World;
beforeAll(async () => {
  proxy = await (await sharedControlPlane()).connectionProxy();
  world = await World.create({ server: proxy.server });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

/** Records every content that each Secret of the namespace has over time, from a separate watch. */
async function recordContents(signal: AbortSignal): Promise<Map<string, Set<string>>> {
  const api = new KubeClient({
    credentials: await loadCredentials({ kubeconfig: world.plane.kubeconfigPath }),
    clock: systemClock,
    fieldManager: "vaultsync-test",
  });
  const contents = new Map<string, Set<string>>();
  const namespace = world.namespace;
  let resourceVersion = "";
  for await (const page of api.list(SECRETS, { namespace }, signal))
    resourceVersion = page.resourceVersion;
  void record(api, resourceVersion, contents, signal);
  return contents;
}

async function record(
  api: KubeClient,
  resourceVersion: string,
  into: Map<string, Set<string>>,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const event of api.watch(
      SECRETS,
      { namespace: world.namespace, resourceVersion, timeoutSeconds: 600 },
      signal,
    )) {
      if (event.type === "bookmark" || event.type === "deleted") continue;
      const { name } = event.object.metadata;
      into.set(name, (into.get(name) ?? new Set()).add(JSON.stringify(event.object.data)));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await api[Symbol.asyncDispose]();
  }
}

test("an operator killed during 200 first syncs writes each Secret correctly after a restart", async () => {
  const watching = new AbortController();
  const contents = await recordContents(watching.signal);
  const values = new Map(
    Array.from({ length: 200 }, (_, index) => [
      `crash-${index}`,
      world.canaries.text(`crash-${index}`),
    ]),
  );
  for (const [name, value] of values) await world.protect(name, value);
  await world.apply(...[...values.keys()].map((name) => vaultSecret(name, { password: name })));

  const first = await world.startClusterOperator();
  await waitUntil("some Secrets are written", () => contents.size >= 40);
  await first.stop("SIGKILL");
  const written = contents.size;
  expect(written).toBeLessThan(200);

  await world.startClusterOperator();
  await waitUntil(
    "all resources are Ready",
    async () => {
      const resources = await world.list("VaultSecret");
      return (
        resources.filter((one) => condition(one, "Ready")?.status === "True").length === values.size
      );
    },
    60_000,
  );
  const secrets = new Map(
    (await world.list("Secret")).map((secret) => [secret.metadata.name, secret]),
  );
  for (const [name, value] of values)
    expect(bytesOf(secrets.get(name)!, "password")?.toString(), name).toBe(value);
  await waitUntil("the recorder has seen them all", () => contents.size === values.size);
  for (const [name, seen] of contents) expect(seen.size, name).toBe(1);
  watching.abort();
});

test("the operator detects a deletion that happened while its connections were dropped", async () => {
  const before = await world.until("Secret", "crash-0", () => true);
  expect(proxy.dropAll()).toBeGreaterThan(0);
  await world.plane.kubectl(["delete", "secret", "crash-0", "--wait=false"], {
    namespace: world.namespace,
  });
  await world.until("Secret", "crash-0", (secret) => secret.metadata.uid !== before.metadata.uid);
});

test("the operator continues after a restart of the API server", async () => {
  const operator = world.operator;
  await world.plane.restartApiServer();
  const next = world.canaries.text("after a restart");
  await world.protect("crash-1", next);
  await world.has("crash-1", "password", next, 60_000);
  expect(operator.exited).toBe(false);
});

test("a watch with an expired resourceVersion (410) restarts and detects deletions in the gap", async () => {
  await world.operator.stop();
  // The outage is longer than the lease allows: without leader election the process may continue.
  const operator = await world.startClusterOperator(["--no-leader-elect", "--log-level", "debug"]);
  // Every resource was reconciled once: only watches can trigger another reconcile.
  await waitUntil("every resource is reconciled", async () => {
    const { body } = await operator.page("/metrics");
    return (
      Number(
        /^vaultsync_reconciles_total\{controller="sync",outcome="done"\} (\d+)$/m.exec(body)?.[1],
      ) >= 200
    );
  });
  const before = await world.until("Secret", "crash-2", () => true);
  proxy.refuse(true);
  proxy.dropAll();
  await world.plane.kubectl(["delete", "secret", "crash-2", "--wait=false"], {
    namespace: world.namespace,
  });
  // A restarted API server has no watch history.
  await world.plane.restartApiServer();
  proxy.refuse(false);
  await world.until(
    "Secret",
    "crash-2",
    (secret) => secret.metadata.uid !== before.metadata.uid,
    60_000,
  );
  await waitUntil("the watch of targets received 410", () =>
    /watch secrets: Gone \(410/.test(operator.log),
  );
});

test("SIGTERM releases the lease and exits with 0, and no value appears in the output", async () => {
  await world.operator.stop();
  const operator = await world.startClusterOperator();
  const output = await world.operatorOutput();
  expect(await operator.stop("SIGTERM")).toBe(0);
  expect(operator.log).toContain("released lease");
  expect(world.canaries.tracesIn(output)).toEqual([]);
});
