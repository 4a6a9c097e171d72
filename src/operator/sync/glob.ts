/**
 * Returns a function that reports whether a text matches a glob: `*` stands for any characters,
 * including none and `/`; every other character stands for itself. There is no escaping and no
 * backtracking: the time is linear.
 */
export function globMatcher(glob: string): (text: string) => boolean {
  const [first = "", ...rest] = glob.split("*");
  const last = rest.pop();
  if (last === undefined) return (text) => text === glob;
  return (text) => {
    if (!text.startsWith(first)) return false;
    let end = first.length;
    for (const part of rest) {
      const at = text.indexOf(part, end);
      if (at < 0) return false;
      end = at + part.length;
    }
    return text.length >= end + last.length && text.endsWith(last);
  };
}
