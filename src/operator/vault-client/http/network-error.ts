import { errors } from "undici";
import type { Operation } from "../../../protocol/operations.ts";
import { RefusedError, TransientError, type TransientCode, type VaultError } from "../vault-error.ts";

const CODE = /^[A-Z0-9_]{1,64}$/;
const CERTIFICATE =
  /CERT|^UNABLE_TO_|^ERR_TLS|^ERR_SSL|^ERR_OSSL|^EPROTO$|^HOSTNAME_MISMATCH$|^CRL_|_CRL|^PATH_LENGTH_|^INVALID_(CA|PURPOSE)$/;
const BROKEN = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "UND_ERR_SOCKET", "UND_ERR_RES_CONTENT_LENGTH_MISMATCH"]);

/** The first code of the system's on the error or what caused it; nothing else of a network error is ever passed on. */
function codeOf(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string" && CODE.test(at.code)) return at.code;
  }
  return undefined;
}

function transientCode(error: unknown, detail: string | undefined): TransientCode {
  // What spoke was not HTTP, or stopped being it.
  if (error instanceof errors.HTTPParserError) return "reset";
  if (detail === undefined) return "unreachable";
  return BROKEN.has(detail) ? "reset" : "unreachable";
}

/** What a failure of the network, of name resolution or of TLS means. A peer that cannot be verified is refused, not transient. */
export function networkError(operation: Operation, error: unknown): VaultError {
  const detail = codeOf(error);
  if (detail === "VAULT_ADDRESS_REFUSED") return new RefusedError(operation, "address");
  if (detail !== undefined && CERTIFICATE.test(detail)) return new RefusedError(operation, "tls", detail);
  return new TransientError(operation, transientCode(error, detail), { detail });
}
