/** Replaces fenced code blocks with empty lines: line numbers stay. */
function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1[^\n]*$/gmu, (block) =>
    block.replaceAll(/[^\n]/gu, ""),
  );
}

/** Returns the anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/gu, "$1")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/gu, "-");
}

/** Returns the anchors of all headings of a page; repeated ones get `-1`, `-2`, … as on GitHub. */
export function anchorsIn(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const counts = new Map<string, number>();
  for (const [, heading = ""] of withoutCode(markdown).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gmu)) {
    const anchor = anchorOf(heading);
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    anchors.add(count === 0 ? anchor : `${anchor}-${count}`);
  }
  return anchors;
}

/**
 * Returns the destinations of all links and images of a page that are not URLs, in the order of the
 * page.
 */
export function relativeLinksIn(markdown: string): string[] {
  const text = withoutCode(markdown).replaceAll(/`[^`\n]*`/gu, "");
  const inline = [...text.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/gu)];
  const references = [...text.matchAll(/^\s*\[[^\]]+\]:\s*<?([^\s>]+)/gmu)];
  return [...inline, ...references]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z][a-z0-9+.-]*:/iu.test(link));
}

/** Returns every page below docs/ that a source text names, with its anchor where it has one. */
export function pagesNamedIn(source: string): string[] {
  return source.match(/(?<![\w/.-])docs\/[\w./-]+\.md(?:#[\w-]+)?/gu) ?? [];
}

/**
 * Returns the files and folders of the repository that a page names in inline code; `{a,b}` stands
 * for several.
 */
export function pathsNamedIn(markdown: string): string[] {
  const names = [
    ...withoutCode(markdown).matchAll(
      /`((?:src|test|docs|scripts|deploy|crds|examples)\/[\w./{},-]*)`/gu,
    ),
  ];
  return names.flatMap(([, name = ""]) => {
    const [, start = "", choices = "", end = ""] = /^([^{]*)\{([^}]*)\}(.*)$/u.exec(name) ?? [];
    return choices === "" ? [name] : choices.split(",").map((choice) => start + choice + end);
  });
}
