const units: Readonly<Record<string, string>> = {
  " ": "space",
  "\t": "tab",
  "\n": "newline",
  "\r": "carriage return",
  "\r\n": "newline (CRLF)",
};

function plural(count: number, unit: string): string {
  return count === 1 ? `a ${unit}` : `${count} ${unit.replace(/(?= \(|$)/u, "s")}`;
}

/** Describes the white space at the end of a value: `Ends with a space and 2 newlines.` */
export function valueEnd(value: string): string | undefined {
  const runs: { readonly unit: string; readonly count: number }[] = [];
  for (const [character] of /[ \t\r\n]*$/u.exec(value)?.[0].matchAll(/\r\n|./gsu) ?? []) {
    const unit = units[character] ?? "";
    const last = runs.at(-1);
    if (last?.unit === unit) runs[runs.length - 1] = { unit, count: last.count + 1 };
    else runs.push({ unit, count: 1 });
  }
  if (runs.length === 0) return undefined;
  const words = runs.map(({ unit, count }) => plural(count, unit));
  const last = words.at(-1) ?? "";
  return `Ends with ${words.length === 1 ? last : `${words.slice(0, -1).join(", ")} and ${last}`}.`;
}
