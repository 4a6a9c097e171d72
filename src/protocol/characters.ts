/** C0, DEL and C1. */
// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/u;

/** Reports whether a text contains a control character: no name may have one. */
export function hasControlCharacter(text: string): boolean {
  return CONTROL.test(text);
}

/** Reports whether a text has at most so many code points, the unit of JSON Schema lengths. */
export function isAtMost(text: string, maxCharacters: number): boolean {
  return (
    text.length <= maxCharacters ||
    (text.length <= 2 * maxCharacters && Array.from(text).length <= maxCharacters)
  );
}
