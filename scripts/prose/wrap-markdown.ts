/** Longest line of a paragraph or list item, unless one word is longer. */
const width = 100;

const fence = /^ *(```|~~~)/;
const generated = /^<!-- (generated|end)\b/;
/** Lines that stay as they are: headings, tables, HTML, quotations, images, definitions. */
const unwrapped = /^ *(?:#|\||<|>|!\[|\[!\[|\[[^\]]+\]: |---)/;
const item = /^( *)([-*]|\d+\.) +/;
/** Words that would begin another block at the start of a line. */
const blockStart = /^(?:[-+*>|#]+|\d+[.)])$/;

/** Returns the words of a text. Inline code counts as one, with the text that touches it. */
const wordsOf = (text: string): string[] => text.match(/(?:`[^`]*`|\S)+/g) ?? [];

function wrapped(first: string, indent: string, text: string): string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of wordsOf(text)) {
    const fits = line.length + (isEmpty ? 0 : 1) + word.length <= width;
    if (!isEmpty && !fits && !blockStart.test(word)) {
      lines.push(line);
      line = indent;
      isEmpty = true;
    }
    line += (isEmpty ? "" : " ") + word;
    isEmpty = false;
  }
  return [...lines, line];
}

/**
 * Returns a page with its paragraphs and list items wrapped. Code, tables, headings, HTML and
 * generated sections stay unchanged. The formatter wraps paragraphs too, but pads each table to its
 * widest cell (hundreds of columns here) and formats the generated sections.
 */
export function wrapMarkdown(page: string): string {
  const output: string[] = [];
  let block: { first: string; indent: string; text: string } | undefined;
  const flush = (): void => {
    if (block !== undefined) output.push(...wrapped(block.first, block.indent, block.text));
    block = undefined;
  };
  let closing: RegExp | undefined;
  for (const line of page.split("\n")) {
    const opened = fence.exec(line)?.[1];
    if (closing !== undefined) {
      if (closing.test(line)) closing = undefined;
      output.push(line);
    } else if (opened !== undefined || generated.test(line)) {
      flush();
      if (opened !== undefined) closing = new RegExp(`^ *${opened}`);
      else if (line.startsWith("<!-- generated")) closing = /^<!-- end -->/;
      output.push(line);
    } else if (line.trim() === "" || unwrapped.test(line)) {
      flush();
      output.push(line);
    } else {
      const marker = item.exec(line)?.[0];
      if (marker !== undefined) {
        flush();
        const indent = " ".repeat(marker.length);
        block = { first: marker, indent, text: line.slice(marker.length) };
      } else if (block === undefined) {
        const indent = /^ */.exec(line)?.[0] ?? "";
        block = { first: indent, indent, text: line };
      } else block.text += ` ${line}`;
    }
  }
  flush();
  return output.join("\n");
}
