import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, longest first. One that started last would run alone at the end. */
const longest = [
  "vault-outage.test.ts",
  "upgrade.test.ts",
  "vault-impostors.test.ts",
  "readme-commands.test.ts",
  "helm.test.ts",
  "uninstall.test.ts",
  "secret-sync.test.ts",
  "vault-network.test.ts",
  "api-watches.test.ts",
  "vault-login.test.ts",
  "fuzz.test.ts",
  "random-episodes.test.ts",
  "planted-bugs.test.ts",
  "lifecycle.test.ts",
];

/** Starts the test files that take longest first, then all other files in the order of Vitest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank(file: TestSpecification): number {
  const index = longest.indexOf(basename(file.moduleId));
  return index === -1 ? longest.length : index;
}
