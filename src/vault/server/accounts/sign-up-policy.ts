import type { SignUpPolicy } from "../context.ts";
import type { Transaction } from "../store/store.ts";

/** Reports whether an address without an account may get one. */
export async function maySignUp(
  { grants }: Transaction,
  email: string,
  { mode, domains }: SignUpPolicy,
): Promise<boolean> {
  if (mode === "closed") return false;
  if (domains && !domains.includes(email.slice(email.lastIndexOf("@") + 1))) return false;
  return mode === "open" || grants.isInvited(email);
}
