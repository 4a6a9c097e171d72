import { timingSafeEqual } from "node:crypto";
import type { KeyRing } from "../crypto/key-ring.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import type { AuditLine, SignLine } from "./audit-line.ts";

/** Purpose of the derived key. */
const LINE_MAC = "audit line v1";
/** Characters of the id of a master key, which a MAC begins with. */
const KEY_ID_LENGTH = 16;

/** Returns the signature of lines under a key that is derived from a master key. */
export function lineSigner(key: MasterKey): SignLine {
  return (text) => key.id + key.mac(LINE_MAC).update(text).digest("base64url");
}

/**
 * `authentic`: a server with one of the master keys has written the line, after those before it.
 * `unknown`: its master key is not among them. `plain`: it has no MAC.
 */
export type LineState = "authentic" | "forged" | "unknown" | "plain";

export function lineState(keys: KeyRing, { signed }: Pick<AuditLine, "signed">): LineState {
  if (!signed) return "plain";
  const key = keys.find(signed.mac.slice(0, KEY_ID_LENGTH));
  if (!key) return "unknown";
  const [found, expected] = [Buffer.from(signed.mac), Buffer.from(lineSigner(key)(signed.text))];
  return found.length === expected.length && timingSafeEqual(found, expected)
    ? "authentic"
    : "forged";
}
