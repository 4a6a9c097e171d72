import { errors } from "undici";
import type { Operation } from "../../../protocol/operations.ts";
import { RefusedError, TransientError, type TransientCode, type VaultError } from "../vault-error.ts";
import { codeOf } from "../../../lib/error-code.ts";

const CODE = /^[A-Z0-9_]{1,64}$/;
const CERTIFICATE =
  /CERT|^UNABLE_TO_|^ERR_TLS|^ERR_SSL|^ERR_OSSL|^EPROTO$|^HOSTNAME_MISMATCH$|^CRL_|_CRL|^PATH_LENGTH_|^INVALID_(CA|PURPOSE)$/;
const BROKEN = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "UND_ERR_SOCKET", "UND_ERR_RES_CONTENT_LENGTH_MISMATCH"]);

/** The first code of the system's on the error or what caused it; nothing else of a network error is ever passed on. */
function systemCodeOf(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code = codeOf(at);
    if (code !== undefined && CODE.test(code)) return code;
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
  const detail = systemCodeOf(error);
  if (detail === "VAULT_ADDRESS_REFUSED") return new RefusedError(operation, "address");
  if (detail !== undefined && CERTIFICATE.test(detail)) return new RefusedError(operation, "tls", detail);
  return new TransientError(operation, transientCode(error, detail), { detail });
}
