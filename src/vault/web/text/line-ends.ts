export type LineEnd = "\n" | "\r\n";

/** Returns the line end of a text, `undefined` when it has different ones. */
export function lineEndOf(text: string): LineEnd | undefined {
  if (!text.includes("\r")) return "\n";
  return /[\r\n]/u.test(text.replaceAll("\r\n", "")) ? undefined : "\r\n";
}
