import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FuzzTarget } from "./search.ts";

const ROOT = join(import.meta.dirname, "../..");
const LITERAL =
  /(?<=[(=:,?![ ])\/(?![/*])((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*[uv][dgimsuvy]*)(?=[).,;\n ])/gu;
/** Longest header that Node.js accepts; expressions for longer fields have targets of their own. */
const MAX_BYTES = 16 * 1024;

/** One character of each class that expressions name. */
const SAMPLES = [
  "a",
  "Z",
  "0",
  "9",
  " ",
  "\t",
  "-",
  "_",
  ".",
  ":",
  "/",
  "@",
  '"',
  "'",
  "\\",
  ",",
  ";",
  "=",
  "%",
  "[",
  "]",
  "\xe9",
  "\x01",
];

/**
 * Returns texts that may match parts of an expression: its own characters and words, and one of
 * each class.
 */
function fragmentsOf(source: string): string[] {
  const words = source.match(/[A-Za-z0-9_:;,="'@%/-]{2,}/gu) ?? [];
  return [
    ...new Set([...words, ...(source.match(/[^\\^$|()[\]{}?*+]/gu) ?? []), ...SAMPLES]),
  ].filter((text) => /^[\0-\xff]+$/u.test(text));
}

/**
 * Returns a target for each regular expression in the sources of the vault server and the protocol.
 */
export function expressionTargets(): FuzzTarget[] {
  const files = globSync("src/{vault/server,protocol,lib}/**/*.ts", { cwd: ROOT }).filter(
    (file) => !file.endsWith(".test.ts"),
  );
  const literals = new Map<string, { source: string; flags: string }>();
  for (const file of files.sort()) {
    for (const [literal, source = "", flags = ""] of readFileSync(
      join(ROOT, file),
      "utf8",
    ).matchAll(LITERAL)) {
      literals.set(literal, { source, flags });
    }
  }
  return [...literals].map(([literal, { source, flags }]) => {
    const expression = new RegExp(source, flags);
    return {
      name: `expression ${literal}`,
      maxBytes: MAX_BYTES,
      fragments: fragmentsOf(source),
      parse: (input) => input.toString("latin1").replace(expression, ""),
    };
  });
}
