/**
 * Characters that the paths of External Secrets Operator (gjson) use for anything but a name or an
 * index.
 */
const SPECIAL = /[*?#|@!{}[\]()"<>=%]/u;

/**
 * Returns the JSON Pointer (RFC 6901) of a path such as `users.0.name`, in which a backslash
 * escapes a character; `undefined` for one with wildcards, queries or modifiers.
 */
export function jsonPointerOf(path: string): string | undefined {
  const parts: string[] = [""];
  for (let index = 0; index < path.length; index += 1) {
    const character = path[index] ?? "";
    const last = parts.length - 1;
    if (character === "\\") parts[last] += path[(index += 1)] ?? "";
    else if (character === ".") parts.push("");
    else if (SPECIAL.test(character)) return undefined;
    else parts[last] += character;
  }
  return parts.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Functions with the same result in Go templates and here, by their names there. */
const functions: ReadonlyMap<string, string> = new Map([
  ["toString", ""],
  ["b64enc", "base64"],
  ["b64dec", "base64decode"],
  ["toJson", "json"],
  ["upper", "upper"],
  ["lower", "lower"],
  ["trim", "trim"],
]);

/** Words that a template here reads as something else than a variable of that name. */
const RESERVED = new Set(["vars", "true", "false", "nil", "null", "empty", "blank"]);

const VARIABLE = /^\.([A-Za-z_]\w*)$/u;
const INDEXED = /^index \. "([^"\\{}]+)"$/u;

/**
 * Returns an expression with its functions; `undefined` for anything but a variable and functions
 * without arguments.
 */
function expressionOf(pipeline: string): string | undefined {
  const [first = "", ...applied] = pipeline.split("|").map((part) => part.trim());
  const [, plain] = VARIABLE.exec(first) ?? [];
  const [, indexed] = INDEXED.exec(first) ?? [];
  const quoted = indexed ?? (RESERVED.has(plain ?? "") ? plain : undefined);
  const variable = quoted === undefined ? plain : `vars["${quoted}"]`;
  const names = applied.map((name) => functions.get(name));
  if (variable === undefined || names.includes(undefined)) return undefined;
  return [variable, ...names.filter((name) => name !== "")].join(" | ");
}

/**
 * Returns the template of a VaultSecret that has the result of a Go template of External Secrets
 * Operator; `undefined` if it has more than variables and simple functions.
 */
export function liquidTemplateOf(template: string): string | undefined {
  if (template.includes("{%")) return undefined;
  let isKnown = true;
  const converted = template.replaceAll(
    /\{\{(-?)([^{}]*?)(-?)\}\}/gu,
    (_, before: string, pipeline: string, after: string) => {
      const expression = expressionOf(pipeline.trim());
      if (expression === undefined) isKnown = false;
      return `{{${before} ${expression} ${after}}}`;
    },
  );
  return isKnown && !/\{\{|\}\}/u.test(template.replaceAll(/\{\{[^{}]*\}\}/gu, ""))
    ? converted
    : undefined;
}
