import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { hasImage, provideImage } from "../../test/lab/docker/docker.ts";
import type { Progress } from "../../test/lab/control-plane/progress.ts";
import { importLocalBase } from "./local-base.ts";

const dockerfile = join(import.meta.dirname, "../../Dockerfile");
const pullMs = 300_000;

/** Returns the default of NODE_IMAGE in the Dockerfile. */
async function publishedBase(): Promise<string> {
  const image = /^ARG NODE_IMAGE=(\S+)$/mu.exec(await readFile(dockerfile, "utf8"))?.[1];
  if (image === undefined) throw new Error("Dockerfile: expected a line ARG NODE_IMAGE=IMAGE");
  return image;
}

/**
 * Returns the image for NODE_IMAGE: `given`, the published one, or where that cannot be pulled, one
 * made on this machine.
 * @throws Error that says why there is none
 */
export async function provideBase(given: string | undefined, progress: Progress): Promise<string> {
  const image = given ?? (await publishedBase());
  if (!(await hasImage(image))) progress.note(`Pulling the base ${image}.`);
  const failure = await provideImage(image, pullMs);
  if (failure === undefined) return image;
  if (given !== undefined) throw new Error(`--base: ${failure}`);
  progress.note(`${failure}: making a base from Debian on this machine.`);
  return importLocalBase(progress);
}
