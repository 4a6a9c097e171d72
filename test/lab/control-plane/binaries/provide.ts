import { assetsVariable } from "./assets-variable.ts";
import { goBuild } from "./go-build.ts";
import { k3sImage } from "./k3s-image.ts";
import { publishedArchive } from "./published-archive.ts";
import type { Provision, Source, SourceContext } from "./source.ts";
import { userCache } from "./user-cache.ts";

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
