import type { ConnectionFacts } from "./connection-facts.ts";

const UNTRUSTED = /UNABLE_TO_|SELF_SIGNED|^CERT_(UNTRUSTED|SIGNATURE_FAILURE)/u;
/** Codes of a server that responds to a TLS handshake with something else. */
const NOT_TLS = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/u;

interface Explanation {
  readonly cause: string;
  readonly remedy: string;
}

function untrusted(facts: ConnectionFacts): string {
  return facts.caBundle === undefined
    ? "store the certificate of its authority in a ConfigMap under the key ca.crt, and name that in spec.caBundleRef"
    : `add the certificate of its authority to ${facts.caBundle}`;
}

/**
 * Returns the meaning of a code of Node or OpenSSL for a connection without a verified peer. The
 * spec may be right: a certificate is renewed at the vault.
 */
export function tlsProblem(
  code: string,
  facts: ConnectionFacts,
  { host, hostname }: URL,
): Explanation {
  const problem = (cause: string, remedy: string): Explanation => ({
    cause: code === "" ? cause : `${cause} (${code})`,
    remedy,
  });
  if (UNTRUSTED.test(code))
    return problem(`no trusted authority signed the certificate of ${host}`, untrusted(facts));
  if (code === "CERT_HAS_EXPIRED")
    return problem(`the certificate of ${host} has expired`, "renew it at the vault");
  if (code === "CERT_NOT_YET_VALID")
    return problem(
      `the certificate of ${host} is not valid yet`,
      "check the clocks of the vault and of the operator",
    );
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return problem(
      `the certificate is not for the host ${hostname}`,
      "use a host in spec.url that it names, or issue one for this host",
    );
  if (NOT_TLS.test(code))
    return problem(
      `${host} does not speak TLS`,
      "correct the port in spec.url, or serve the vault with TLS there",
    );
  return problem(
    `no TLS connection to ${host}`,
    "check that spec.url leads to an https server that offers TLS 1.2 or later with a valid certificate",
  );
}
