/** Control characters, and characters that reverse the direction of the following text. */
const UNPRINTABLE = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Returns untrusted text without the characters that would change what a terminal shows next to it.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, "\uFFFD");
}
