/** Returns the canonical spelling of an account's address: addresses are compared case-insensitively. */
export function canonicalEmail(email: string): string {
  return email.toLowerCase();
}

const ADDRESS = /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u;

/** Reports whether an account may have this address: text on both sides of one `@`, without spaces or control characters. */
export function isEmailAddress(text: string): boolean {
  return text.length <= 320 && ADDRESS.test(text);
}
