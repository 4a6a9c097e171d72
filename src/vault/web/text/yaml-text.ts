type Scalar = string | number;
type Node = Scalar | readonly Node[] | { readonly [name: string]: Node };

/** A text that YAML 1.1 and 1.2 read as this text without quotation marks. */
const PLAIN = /^(?!(?:true|false|yes|no|on|off|null|y|n)$)[a-z][\w./-]*$/iu;
/** Characters that JSON keeps and YAML does not allow, or reads as line ends. */
const UNPRINTABLE = /[\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/gu;

function scalarText(value: Scalar): string {
  if (typeof value === "number" || PLAIN.test(value)) return String(value);
  return JSON.stringify(value).replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function isScalar(node: Node): node is Scalar {
  return typeof node !== "object";
}

function isList(node: Node): node is readonly Node[] {
  return Array.isArray(node);
}

function linesOf(node: Node): string[] {
  if (isScalar(node)) return [scalarText(node)];
  if (isList(node)) {
    return node.flatMap((entry) =>
      linesOf(entry).map((line, at) => `${at === 0 ? "- " : "  "}${line}`),
    );
  }
  return Object.entries(node).flatMap(([name, value]) => {
    if (isScalar(value)) return [`${name}: ${scalarText(value)}`];
    return [`${name}:`, ...linesOf(value).map((line) => `  ${line}`)];
  });
}

/** Formats an object as a YAML document. Names of members need no quotation marks. */
export function yamlText(document: { readonly [name: string]: Node }): string {
  return `${linesOf(document).join("\n")}\n`;
}
