import { expect } from "vitest";
import { SimulatedWorld } from "./simulated-world.ts";

/** Starts an operator that has pushed the value `one`. */
export async function pushed(changes: object = {}): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.forPushes();
  scene.pushes.source({ password: "one" });
  scene.pushes.put(changes);
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
  scene.pushes.takeVaultRequests();
  return scene;
}
