import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { writeImageArchive } from "../../../scripts/image/archive.ts";
import { terminalProgress } from "../../lab/control-plane/progress.ts";
import { unpackImage, type UnpackedImage } from "../../lab/images/unpack-image.ts";
import { containerRuntime } from "../../lab/images/container-runtime.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The image of this checkout, the digests of its layers, and the program for its containers. */
    image: {
      readonly unpacked: UnpackedImage;
      readonly layers: readonly string[];
      readonly runc: string;
    };
  }
}

/** Global setup of Vitest: builds the image of this checkout and unpacks it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const runtime = await containerRuntime();
  if ("why" in runtime) throw new Error(`the tests of the image: ${runtime.why}`);
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-image-test-"));
  const file = join(directory, "image.tar");
  const progress = terminalProgress();
  const { layers } = await writeImageArchive({ name: "vaultsync:test", file }, progress);
  const unpacked = await unpackImage(file, directory);
  project.provide("image", { unpacked, layers, runc: runtime.runc });
  return () => rm(directory, { recursive: true, force: true });
}
