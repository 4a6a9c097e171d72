import { expect, test } from "vitest";
import { OperatorScene } from "../lab/operator/operator-scene.ts";

const CONNECTIONS = ["a", "b", "c", "d", "e", "f", "g", "h"];
const NAMES = Array.from({ length: 20 }, (_, n) => `secret-${n}`);

test("a process that works on 8 shards reconciles at most --concurrency resources together", async () => {
  await using scene = new OperatorScene();
  for (const namespace of CONNECTIONS) scene.addVault(namespace, NAMES);
  scene.start({ shards: 8, concurrency: 5 });
  await scene.clock.advance(120_000);
  for (const namespace of CONNECTIONS)
    for (const name of NAMES) expect(scene.value(namespace, name)).toBe(`${name}@1`);
  expect(scene.maxInFlight).toBe(5);
});
