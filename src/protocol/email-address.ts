/** The one spelling an account is known by, everywhere: addresses are compared case-insensitively. Source: the vault contract, "Transport". */
export function canonicalEmail(email: string): string {
  return email.toLowerCase();
}

const ADDRESS = /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u;

/** Whether an account may have this address: one `@` with something on both sides, no spaces or control characters. */
export function isEmailAddress(text: string): boolean {
  return text.length <= 320 && ADDRESS.test(text);
}
