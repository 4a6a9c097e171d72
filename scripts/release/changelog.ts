const unreleased = "## [Unreleased]";

/**
 * Returns the text of a section of the changelog, with its date if its heading has one, or
 * `undefined` without the section.
 */
function sectionOf(
  changelog: string,
  name: string,
): { readonly date?: string; readonly text: string } | undefined {
  const lines = changelog.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`## [${name}]`));
  if (start < 0) return undefined;
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith("## "));
  const text = lines.slice(start + 1, length < 0 ? undefined : start + 1 + length).join("\n");
  const date = /\] - (\d{4}-\d{2}-\d{2})$/u.exec(lines[start] ?? "")?.[1];
  return { ...(date !== undefined && { date }), text: text.trim() };
}

/** Returns what keeps a version from being released with this changelog. */
export function changelogProblems(changelog: string, version: string): string[] {
  const section = sectionOf(changelog, version);
  if (section === undefined)
    return [`CHANGELOG.md has no section [${version}]: run npm run release -- --bump ${version}`];
  const rest = sectionOf(changelog, "Unreleased")?.text ?? "";
  return [
    ...(section.date === undefined ? [`CHANGELOG.md: the section [${version}] has no date`] : []),
    ...(section.text === "" ? [`CHANGELOG.md: the section [${version}] is empty`] : []),
    ...(rest === ""
      ? []
      : [
          `CHANGELOG.md: [Unreleased] is not empty: what it lists would be in the release, and not in its notes`,
        ]),
  ];
}

/** Reports whether the notes of a version say how to upgrade. */
export function saysHowToUpgrade(changelog: string, version: string): boolean {
  return /^### Upgrade$/mu.test(sectionOf(changelog, version)?.text ?? "");
}

/**
 * Returns the changelog with what is unreleased as the section of a version, and an empty section
 * above it. @throws Error if it exists
 */
export function withSection(changelog: string, version: string, date: string): string {
  if (sectionOf(changelog, version) !== undefined)
    throw new Error(`CHANGELOG.md already has a section [${version}]`);
  const heading = `${unreleased}\n\n## [${version}] - ${date}\n`;
  return changelog
    .replace(`${unreleased}\n`, heading)
    .replace(/^The content of [\d.]+\.\n\n/mu, "");
}
