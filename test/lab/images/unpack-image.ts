import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import type { ImageConfig } from "./oci-archive.ts";

const run = promisify(execFile);

const Blob = z.object({ digest: z.string() });
const Index = z.object({ manifests: z.tuple([Blob]) });
const Manifest = z.object({ config: Blob, layers: z.array(Blob) });
const Config = z.object({
  config: z.object({
    Env: z.array(z.string()).default([]),
    User: z.string(),
    Entrypoint: z.array(z.string()),
    Cmd: z.array(z.string()),
  }),
});

/** An image whose files are in a directory. */
export interface UnpackedImage {
  /** The root directory of its containers. */
  readonly root: string;
  readonly config: Required<ImageConfig>;
}

const readJson = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, "utf8"));

/**
 * Unpacks an archive of `writeOciArchive` into a directory, with the owners of its files: requires
 * root.
 */
export async function unpackImage(archive: string, directory: string): Promise<UnpackedImage> {
  const [layout, root] = [join(directory, "layout"), join(directory, "root")];
  await mkdir(layout);
  await mkdir(root);
  await run("tar", ["--extract", `--file=${archive}`, `--directory=${layout}`]);
  const blob = ({ digest }: z.infer<typeof Blob>): string =>
    join(layout, "blobs", digest.replace(":", "/"));
  const index = Index.parse(await readJson(join(layout, "index.json")));
  const manifest = Manifest.parse(await readJson(blob(index.manifests[0])));
  const { config } = Config.parse(await readJson(blob(manifest.config)));
  for (const layer of manifest.layers) {
    const kept = ["--preserve-permissions", "--numeric-owner"];
    await run("tar", ["--extract", ...kept, `--file=${blob(layer)}`, `--directory=${root}`]);
  }
  return { root, config };
}
