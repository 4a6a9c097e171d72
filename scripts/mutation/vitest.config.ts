import { defineConfig } from "vitest/config";

/**
 * The unit tests of the mutated folders, for mutation testing (`npm run mutation`): one worker,
 * because each runner has its own. The files share their modules, because loading them for each
 * mutant takes longer than the tests. The tests of the whole engine are not among them: each takes
 * seconds.
 */
export default defineConfig({
  test: {
    include: ["src/operator/{sync,runtime,controllers,vault-client,restart,shards}/**/*.test.ts"],
    testTimeout: 30_000,
    maxWorkers: 1,
    isolate: false,
  },
});
