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
