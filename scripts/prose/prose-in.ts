/** A piece of prose in a file. `kind` decides which rules apply. */
export interface Prose {
  readonly kind: "comment" | "string" | "markdown";
  readonly text: string;
  /** Offset of the text in the file. */
  readonly offset: number;
}

/** Returns the prose of a file: a page, or the comments and texts of a source. */
export function proseIn(path: string, content: string): Prose[] {
  return path.endsWith(".md") ? markdownProse(content) : sourceProse(content);
}

/** Replaces text with spaces: offsets stay. */
const blank = (text: string): string => text.replaceAll(/[^\n]/g, " ");

/** Replaces inline code with one long word, which keeps the words around it apart. */
const asWord = (code: string): string => "`".repeat(code.length);

/**
 * Returns a page without its code blocks, inline code and link targets, which quote names that are
 * fixed elsewhere, and without generated sections, whose sources are checked. The lines of a paragraph are joined, because a phrase may be wrapped.
 */
function markdownProse(content: string): Prose[] {
  const text = content
    .replaceAll(/^<!-- generated: [\s\S]*?^<!-- end -->/gm, blank)
    .replaceAll(/^ *```[\s\S]*?^ *```/gm, blank)
    .replaceAll(/`[^`\n]*`/g, asWord)
    .replaceAll(/\]\([^)\n]*\)/g, blank)
    .replaceAll(/\n(?! *(?:\n|[-*|#<]|\d+\.))/g, " ");
  return [{ kind: "markdown", text, offset: 0 }];
}

/**
 * Comments and string literals, in this order of alternatives so that `//` within a string is not a
 * comment.
 */
const tokens =
  /\/\*[\s\S]*?\*\/|(?<![:\w])\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|(?<=>)[^<>{}\n]*[A-Za-z][^<>{}\n]*(?=<|\{|$)/gm;

/**
 * Returns comments, and those string literals (and JSX texts) that contain a space: names and codes
 * are not prose.
 */
function sourceProse(content: string): Prose[] {
  return [...content.matchAll(tokens)].flatMap((match): Prose[] => {
    const [text] = match;
    if (text.startsWith("/*") || text.startsWith("//")) {
      return [
        { kind: "comment", text: text.replaceAll(/`[^`\n]*`/g, asWord), offset: match.index },
      ];
    }
    return text.includes(" ") ? [{ kind: "string", text, offset: match.index }] : [];
  });
}
