import { stringify } from "yaml";
import { customResourceDefinitions } from "../../src/operator/api/crd.ts";

const header = "# Generated from src/operator/api by `npm run generate`. Do not edit.\n";

/** Returns the CRDs, by path from the repository root. */
export function customResources(): Map<string, string> {
  return new Map(
    Array.from(customResourceDefinitions(), ([name, definition]) => [
      `deploy/chart/files/crds/${name}`,
      header + stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false }),
    ]),
  );
}
