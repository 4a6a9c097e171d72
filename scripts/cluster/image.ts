import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageVersion } from "../../src/lib/package-version.ts";
import type { Progress } from "../../test/lab/control-plane/progress.ts";
import type { NodeCluster } from "../../test/lab/node/node-cluster.ts";
import { writeImageArchive } from "../image/archive.ts";

export const imageRepository = "docker.io/library/vaultsync";
export const image = `${imageRepository}:${packageVersion()}`;

/** Builds the image of this checkout, without Docker, and loads it into a cluster. */
export async function loadImage(cluster: NodeCluster, progress: Progress): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-archive-"));
  try {
    const file = join(directory, "image.tar");
    await writeImageArchive({ name: image, file }, progress);
    await cluster.importImage(file);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
