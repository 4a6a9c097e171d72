import type { TestProject } from "vitest/node";
import { provideBase } from "../../../scripts/image/base.ts";
import { buildImage } from "../../../scripts/image/build.ts";
import { terminalProgress } from "../../lab/control-plane/progress.ts";
import { dockerDaemon, prepareTestcontainers } from "../../lab/docker/docker.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The image under test, and the base of its build stages. */
    image: { readonly tag: string; readonly base: string };
  }
}

const tag = "vaultsync:test";

/**
 * Global setup of Vitest: builds the image of this checkout. Steps whose input is unchanged come
 * from Docker's cache.
 */
export default async function setup(project: TestProject): Promise<void> {
  if ((await dockerDaemon()) === undefined)
    throw new Error("no Docker daemon responds: npm test -- image says so and ends");
  await prepareTestcontainers();
  const progress = terminalProgress();
  const base = await provideBase(undefined, progress);
  progress.note(`Building ${tag} on ${base}.`);
  await buildImage({ tag, base }, progress);
  project.provide("image", { tag, base });
}
