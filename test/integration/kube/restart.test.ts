import { expect, test } from "vitest";
import { isKubeError } from "../../../src/operator/kube/kube-error.ts";
import { Reflector } from "../../../src/operator/kube/cache/reflector.ts";
import { CONFIG_MAPS, type KubeObject } from "../../../src/operator/kube/resource.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { chosenRelease, oldest } from "../../lab/control-plane/binaries/version.ts";
import { startControlPlane } from "../../lab/control-plane/start.ts";
import { connect } from "./connect.ts";

const forever = new AbortController().signal;
const namespace = "default";

function configMap(name: string, labels: Record<string, string> = { watched: "yes" }): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name, labels } };
}

// Uses its own control plane, because a restart affects all users of the shared one.
test("the reflector and the client survive a restart of the API server", async () => {
  await using controlPlane = await startControlPlane();
  await using client = await connect(controlPlane.kubeconfigPath);
  const changes: string[] = [];
  const reflector = new Reflector({
    api: client,
    resource: CONFIG_MAPS,
    namespace,
    labelSelector: "watched=yes",
    project: ({ metadata }) => metadata.name,
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
  });
  reflector.onChange(({ type, key }) => void changes.push(`${type} ${key}`));
  const stop = new AbortController();
  const running = reflector.run(stop.signal);
  await client.create(CONFIG_MAPS, configMap("before"), forever);
  await expect.poll(() => changes).toEqual(["added default/before"]);

  const { resourceVersion = "" } = (
    await client.create(CONFIG_MAPS, configMap("unwatched", {}), forever)
  ).metadata;

  await controlPlane.stopApiServer();
  const during = client.create(CONFIG_MAPS, configMap("during"), forever);
  await expect(during).rejects.toSatisfy((error) => isKubeError(error, "Unavailable", "Timeout"));
  expect([...reflector.store.values()]).toEqual(["before"]);

  await controlPlane.startApiServer();
  await client.create(CONFIG_MAPS, configMap("after"), forever);
  await client.delete(CONFIG_MAPS, { namespace, name: "before" }, forever);
  await expect
    .poll(() => changes.toSorted(), { timeout: 40_000 })
    .toEqual(["added default/after", "added default/before", "deleted default/before"]);
  expect([...reflector.store.values()]).toEqual(["after"]);

  // A restarted server does not know old versions; the reflector has handled that. Only the oldest
  // release knows them.
  const old = { namespace, resourceVersion, timeoutSeconds: 30 };
  const watched = client.watch(CONFIG_MAPS, old, forever)[Symbol.asyncIterator]().next();
  const outcome = watched.then(
    () => "known",
    (error: unknown) => (isKubeError(error, "Gone") ? "forgotten" : error),
  );
  expect(await outcome).toBe(chosenRelease() === oldest ? "known" : "forgotten");
  stop.abort();
  await running;
}, 120_000);
