/**
 * Prints the bill of materials of the image in the format CycloneDX; with `--verify DIRECTORY`,
 * compares it with an application.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sbomDifferences } from "./supply/production-packages.ts";
import { sbom } from "./supply/sbom.ts";

const { verify } = parseArgs({ options: { verify: { type: "string" } } }).values;
const bom = sbom(join(import.meta.dirname, ".."));
if (verify === undefined) process.stdout.write(`${JSON.stringify(bom, undefined, 2)}\n`);
else {
  const differences = sbomDifferences(bom, verify);
  for (const difference of differences) process.stderr.write(`${difference}\n`);
  if (differences.length > 0) process.exitCode = 1;
  else process.stdout.write(`${verify} holds the packages of the bill of materials\n`);
}
