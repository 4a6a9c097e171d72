import { type Progress, terminalProgress } from "../control-plane/progress.ts";
import { goTool, goToolNames } from "./go-tool.ts";

/**
 * Vitest's global setup: the programs of go/. The first time this takes minutes, outside of the
 * tests.
 */
export default async function setup(): Promise<void> {
  await buildTools(terminalProgress());
}

/** Builds the programs of go/ that are not in the cache. */
export async function buildTools(progress: Progress): Promise<void> {
  for (const name of goToolNames) await goTool(name, progress);
}
