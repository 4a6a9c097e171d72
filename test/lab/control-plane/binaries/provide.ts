import { goBuild } from "./go-build.ts";
import { k3sImage } from "./k3s-image.ts";
import { publishedArchive } from "./published-archive.ts";
import { type Provision, type Source, type SourceContext, unavailable } from "./source.ts";
import { missingFiles } from "../../tools/install.ts";
import { components } from "./version.ts";

/** The binaries that an earlier run downloaded or built. */
export const userCache: Source = {
  name: "the user's cache directory",
  async find({ cache }) {
    const missing = await missingFiles(cache, components);
    return missing.length === 0
      ? { kind: "binaries", directory: cache }
      : unavailable(`${cache} is empty`);
  },
};

/**
 * The convention of envtest. Its own archives lack the controller manager, so an incomplete
 * directory is not used.
 */
export const assetsVariable: Source = {
  name: "KUBEBUILDER_ASSETS, a directory with the binaries",
  async find({ environment }) {
    const directory = environment["KUBEBUILDER_ASSETS"];
    if (!directory) return unavailable("not set");
    const missing = await missingFiles(directory, components);
    return missing.length === 0
      ? { kind: "binaries", directory }
      : unavailable(`${directory} lacks ${missing.join(", ")}`);
  },
};

/** The sources in the order of their cost. */
export const sources: readonly Source[] = [
  assetsVariable,
  userCache,
  publishedArchive,
  k3sImage,
  goBuild,
];

/**
 * Returns the result of the first available source, and names the source in a progress note.
 * @throws Error that lists every source and why it is not available
 */
export async function provide(
  context: SourceContext,
  candidates: readonly Source[] = sources,
): Promise<Provision> {
  const failures: string[] = [];
  for (const source of candidates) {
    const outcome = await source.find(context);
    if (outcome.kind !== "unavailable") {
      const where = outcome.kind === "binaries" ? outcome.directory : outcome.image;
      context.progress.note(`Control plane from ${source.name}: ${where}`);
      return outcome;
    }
    failures.push(`  ${failures.length + 1}. ${source.name}: ${outcome.why}`);
  }
  throw new Error(
    `no source of a Kubernetes control plane is available; provide one of these:\n${failures.join("\n")}`,
  );
}
