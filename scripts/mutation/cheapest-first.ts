import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Starts tests of pure code first, then of controllers, then of the whole operator: the run of a
 * mutant ends with the first test that notices it.
 */
export class CheapestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  if (moduleId.includes("/test/operator/")) return 2;
  return moduleId.includes("/src/operator/controllers/") ? 1 : 0;
}
