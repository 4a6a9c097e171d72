import { afterAll } from "vitest";
import { World, type WorldOptions } from "../../lab/real/world.ts";

/**
 * Creates the world of a test file, without an operator, and disposes of it after the file's tests.
 */
export async function useWorld(options: WorldOptions = {}): Promise<World> {
  const world = await World.create(options);
  afterAll(() => world[Symbol.asyncDispose]());
  return world;
}
