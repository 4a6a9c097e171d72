import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Starts tests of pure code first, then of controllers, then of the whole operator: the run of a
 * mutant ends with the first test that notices it.
 */
class CheapestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  if (moduleId.includes("/test/operator/")) return 2;
  return moduleId.includes("/src/operator/controllers/") ? 1 : 0;
}

/**
 * The tests of the mutated folders and of the whole operator, for mutation testing (`npm run
 * mutation`): one worker, because each runner has its own. The files share their modules, because
 * loading them for each mutant takes longer than the tests. Two files are missing that take a third
 * of the time of all tests of the whole operator: each mutant that survives would run them.
 */
export default defineConfig({
  test: {
    include: [
      "src/operator/{sync,runtime,controllers,vault-client,restart,shards}/**/*.test.ts",
      "test/operator/**/*.test.ts",
    ],
    exclude: ["test/operator/{fairness,isolation.property}.test.ts"],
    sequence: { sequencer: CheapestFirst },
    testTimeout: 30_000,
    maxWorkers: 1,
    isolate: false,
  },
});
