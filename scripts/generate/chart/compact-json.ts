/** Returns JSON with each array and object on one line if that has at most `width` characters. */
export function compactJson(value: unknown, width: number, indent = ""): string {
  const line = JSON.stringify(value);
  if (value === null || typeof value !== "object" || indent.length + line.length <= width)
    return line;
  const inner = `${indent} `;
  const items = Array.isArray(value)
    ? value.map((item) => compactJson(item, width, inner))
    : Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(name)}: ${compactJson(item, width, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${items.map((item) => inner + item).join(",\n")}\n${indent}${close}`;
}
