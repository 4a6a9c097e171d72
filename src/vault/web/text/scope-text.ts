/** Returns a scope in words: `Everything`, or the attributes that it narrows, with their values. */
export function scopeText(scope: string): string {
  const values = new Map<string, string[]>();
  for (const pair of scope.split(",")) {
    const at = pair.indexOf(":");
    const [attribute, value] = [pair.slice(0, at).replaceAll("_", " "), pair.slice(at + 1)];
    values.set(attribute, [...(values.get(attribute) ?? []), decoded(value)]);
  }
  const narrowed = [...values].filter(
    ([, given]) => !given.includes("*") && !given.includes("all"),
  );
  if (narrowed.length === 0) return "Everything";
  return narrowed.map(([attribute, given]) => `${attribute}: ${given.join(", ")}`).join("; ");
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
