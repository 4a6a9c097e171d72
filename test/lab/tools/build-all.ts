import { terminalProgress } from "../control-plane/progress.ts";
import { goTool, goToolNames } from "./go-tool.ts";

/**
 * Vitest's global setup: builds the programs of go/ that are not in the cache. The first time this
 * takes minutes, outside of the tests.
 */
export default async function setup(): Promise<void> {
  const progress = terminalProgress();
  for (const name of goToolNames) await goTool(name, progress);
}
