const LABEL = "[\\p{L}\\p{N}\\p{M}](?:[\\p{L}\\p{N}\\p{M}-]{0,61}[\\p{L}\\p{N}\\p{M}])?";
const DOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`, "u");
/** RFC 5322 `dot-atom`, with the characters RFC 6531 adds. */
const DOT_ATOM = /^[^\s"(),:;<>@[\\\].\p{C}]+(?:\.[^\s"(),:;<>@[\\\].\p{C}]+)*$/u;
/** A quoted string with nothing in it that would need an escape, or could be taken for an address of its own. */
const QUOTED = /^"[^\s"\\<>@\p{C}]+"$/u;

/**
 * Whether mail can be sent to, or from, exactly this address. Accounts may have stranger ones (`isEmailAddress`); those would have to be
 * rewritten on the way, and a proof must reach nobody but the address it is for. Domain literals are not supported.
 */
export function isDeliverable(email: string): boolean {
  const at = email.lastIndexOf("@");
  const local = email.slice(0, at);
  return at > 0 && (DOT_ATOM.test(local) || QUOTED.test(local)) && DOMAIN.test(email.slice(at + 1));
}
