import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";

/** A kustomization, and the folder of the chart that its manifests are copied to. A template takes the place of what is skipped. */
export interface ManifestSource {
  readonly from: string;
  readonly to: string;
  readonly skipped?: readonly string[];
}

const kustomization = z.looseObject({ resources: z.array(z.string()) });

async function read(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}

/** Returns the paths of the manifests of a kustomization, with those of the kustomizations that it names. */
async function manifestsOf(from: string, skipped: readonly string[] = []): Promise<string[]> {
  const text = (await read(join(from, "kustomization.yaml"))) ?? (await read(join(from, "Kustomization")));
  if (text === undefined) throw new Error(`${from} has no kustomization`);
  const resources = kustomization.parse(parse(text)).resources.filter((resource) => !skipped.includes(resource));
  const paths = resources.map(async (resource) => {
    const path = join(from, resource);
    return resource.endsWith(".yaml") ? [path] : manifestsOf(path);
  });
  return (await Promise.all(paths)).flat();
}

/**
 * Returns the manifests that a chart renders, by the path of the copy. Of those that were just `generated`, the new content. Helm reads no
 * file outside of the chart, and not every tool follows links, so a chart has copies.
 */
export async function copiedManifests(
  folder: string,
  sources: readonly ManifestSource[],
  generated: ReadonlyMap<string, string>,
): Promise<Map<string, string>> {
  const copies = new Map<string, string>();
  for (const { from, to, skipped } of sources) {
    for (const path of await manifestsOf(from, skipped)) {
      const copy = join(folder, "files", to, basename(path));
      if (copies.has(copy)) throw new Error(`${copy}: two manifests have this name`);
      copies.set(copy, generated.get(path) ?? (await readFile(path, "utf8")));
    }
  }
  return copies;
}

/** Returns the paths of the copies in a chart whose manifest is gone. */
export async function abandonedCopies(folder: string, files: ReadonlyMap<string, string>): Promise<string[]> {
  const entries = await readdir(join(folder, "files"), { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return paths.filter((path) => !files.has(path));
}
