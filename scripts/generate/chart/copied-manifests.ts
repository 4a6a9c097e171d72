import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { parse, stringify } from "yaml";
import { z } from "zod";

/**
 * A kustomization, and the folder of the chart that its manifests are copied to. A template takes
 * the place of what is skipped.
 */
export interface ManifestSource {
  readonly from: string;
  readonly to: string;
  readonly skipped?: readonly string[];
}

const generator = z.strictObject({
  name: z.string(),
  namespace: z.string(),
  /** Each as KEY=FILE. */
  files: z.array(z.string()),
  options: z.strictObject({
    disableNameSuffixHash: z.literal(true),
    labels: z.record(z.string(), z.string()),
  }),
});
const kustomization = z.looseObject({
  resources: z.array(z.string()),
  configMapGenerator: z.array(generator).default([]),
});

/** Returns the ConfigMap that kustomize makes of files in the folder `from`. */
async function configMapOf(
  from: string,
  { name, namespace, files, options }: z.output<typeof generator>,
): Promise<string> {
  const entries = files.map(async (entry) => {
    const [key = "", file = key] = entry.split("=");
    return [key, await readFile(join(from, file), "utf8")] as const;
  });
  const data = Object.fromEntries(await Promise.all(entries));
  return stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace, labels: options.labels },
    data,
  });
}

/**
 * Returns the manifests of a kustomization by name of their file, with those of the kustomizations
 * that it names.
 */
async function manifestsOf(
  from: string,
  generated: ReadonlyMap<string, string>,
  skipped: readonly string[] = [],
): Promise<[file: string, text: string][]> {
  const paths = ["kustomization.yaml", "Kustomization"].map((name) => join(from, name));
  const texts = await Promise.all(
    paths.map((path) => readFile(path, "utf8").catch(() => undefined)),
  );
  const text = texts.find((one) => one !== undefined);
  if (text === undefined) throw new Error(`${from} has no kustomization`);
  const { resources, configMapGenerator } = kustomization.parse(parse(text));
  const manifests = resources
    .filter((resource) => !skipped.includes(resource))
    .map(async (resource): Promise<[string, string][]> => {
      const path = join(from, resource);
      if (!resource.endsWith(".yaml")) return manifestsOf(path, generated);
      return [[basename(path), generated.get(path) ?? (await readFile(path, "utf8"))]];
    });
  const configMaps = configMapGenerator.map(async (one): Promise<[string, string]> => [
    `${one.name}.yaml`,
    await configMapOf(from, one),
  ]);
  return [...(await Promise.all(manifests)).flat(), ...(await Promise.all(configMaps))];
}

/**
 * Returns the manifests that a chart renders, by the path of the copy. Of those that were just
 * `generated`, the new content. Helm reads no file outside of the chart, and not every tool follows
 * links, so a chart has copies.
 */
export async function copiedManifests(
  folder: string,
  sources: readonly ManifestSource[],
  generated: ReadonlyMap<string, string>,
): Promise<Map<string, string>> {
  const copies = new Map<string, string>();
  for (const { from, to, skipped } of sources) {
    for (const [file, text] of await manifestsOf(from, generated, skipped)) {
      const copy = join(folder, "files", to, file);
      if (copies.has(copy)) throw new Error(`${copy}: two manifests have this name`);
      copies.set(copy, text);
    }
  }
  return copies;
}

/** Returns the paths of the copies in a chart whose manifest is gone. */
export async function abandonedCopies(
  folder: string,
  files: ReadonlyMap<string, string>,
): Promise<string[]> {
  const entries = await readdir(join(folder, "files"), {
    recursive: true,
    withFileTypes: true,
  }).catch(() => []);
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return paths.filter((path) => !files.has(path));
}
