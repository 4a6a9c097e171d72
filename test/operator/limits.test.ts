import { expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import type { ApiRequest } from "../lab/simulated/api-server/api-client.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";

const CONNECTIONS = ["a", "b", "c", "d", "e", "f", "g", "h"];
const NAMES = Array.from({ length: 20 }, (_, n) => `secret-${n}`);

test("a process that works on 8 shards reconciles at most --concurrency resources together", async () => {
  await using scene = new SimulatedWorld();
  for (const namespace of CONNECTIONS) scene.addVault(namespace, NAMES);
  const creating = { now: 0, most: 0 };
  const count = ({ verb, resource }: ApiRequest, change: number): void => {
    if (verb !== "create" || resource !== SECRETS) return;
    creating.now += change;
    creating.most = Math.max(creating.most, creating.now);
  };
  scene.network = {
    send: (request) => count(request, 1),
    respond: (request) => count(request, -1),
  };
  scene.start({ shards: 8, concurrency: 5 });
  await scene.clock.advance(120_000);
  for (const namespace of CONNECTIONS)
    for (const name of NAMES) expect(scene.value(namespace, name)).toBe(`${name}@1`);
  expect(creating.most).toBe(5);
});
