/**
 * Returns the canonical spelling of an account's address: addresses are compared
 * case-insensitively.
 */
export function canonicalEmail(email: string): string {
  return email.toLowerCase();
}

const ADDRESS = /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u;

const PLAIN_ADDRESS = /^[^"(),:;<>[\\\]]+@[\p{L}\p{M}\p{N}.-]+$/u;

/**
 * Reports whether an address may sign up. Quoted local parts may not: emails name the sender, and a
 * mail client would turn `"https://example.com/log-in"@example.com` into a link.
 */
export function isPlainEmailAddress(text: string): boolean {
  return isEmailAddress(text) && PLAIN_ADDRESS.test(text);
}

/**
 * Reports whether an account may have this address: text on both sides of one `@`, without spaces
 * or control characters.
 */
export function isEmailAddress(text: string): boolean {
  return text.length <= 320 && ADDRESS.test(text);
}
