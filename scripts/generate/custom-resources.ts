import { Document, visit } from "yaml";
import { customResourceDefinitions } from "../../src/operator/api/crd.ts";

const header = "# Generated from src/operator/api by `npm run generate`. Do not edit.\n";

/** A schema of at most this many characters is on one line. */
const longestOnOneLine = 120;

/** Returns the CRDs, by path from the repository root. */
export function customResources(): Map<string, string> {
  return new Map(
    Array.from(customResourceDefinitions(), ([name, definition]) => [
      `deploy/chart/files/crds/${name}`,
      header + yamlOf(definition),
    ]),
  );
}

function yamlOf(definition: object): string {
  const document = new Document(definition, { aliasDuplicateObjects: false });
  visit(document, {
    Collection(_, node) {
      if (JSON.stringify(node).length > longestOnOneLine) return undefined;
      node.flow = true;
      return visit.SKIP;
    },
  });
  return document.toString({ lineWidth: 0, indentSeq: false, flowCollectionPadding: false });
}
