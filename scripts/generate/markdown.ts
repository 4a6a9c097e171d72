function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
}

/**
 * Returns a Markdown table. Cells are Markdown already; line breaks and bars in them are escaped.
 */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

export const code = (text: string): string => `\`${text}\``;

/** Escapes plain text: Markdown shows it unchanged. */
export const plain = (text: string): string => text.replaceAll("<", "&lt;").replaceAll("*", "\\*");

/**
 * Replaces the text between each pair of markers `<!-- generated: NAME -->` and `<!-- end -->`.
 * @throws Error when a section has no markers in the page, or the page has markers without a
 * section
 */
export function withSections(
  path: string,
  page: string,
  sections: Readonly<Record<string, string>>,
): string {
  const seen = new Set<string>();
  const result = page.replaceAll(
    /(<!-- generated: ([\w-]+) -->\n)[\s\S]*?(<!-- end -->)/gu,
    (_, start, name, end) => {
      const section = sections[name];
      if (section === undefined) throw new Error(`${path}: nothing generates the section ${name}`);
      seen.add(name);
      return `${start}\n${section}\n\n${end}`;
    },
  );
  const missing = Object.keys(sections).filter((name) => !seen.has(name));
  if (missing.length > 0)
    throw new Error(`${path}: there are no markers <!-- generated: ${missing.join(", ")} -->`);
  return result;
}
