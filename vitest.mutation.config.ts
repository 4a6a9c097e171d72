import { defineConfig } from "vitest/config";

/** The unit tests of the operator, for mutation testing (`npm run mutation`): one worker, because each runner has its own. */
export default defineConfig({
  test: {
    include: ["src/operator/**/*.test.ts"],
    testTimeout: 30_000,
    maxWorkers: 1,
  },
});
