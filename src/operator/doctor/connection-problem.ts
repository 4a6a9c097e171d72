import { isVaultError, type RefusedError, type TransientError } from "../vault-client/vault-error.ts";

/** The check that a failure belongs to, and how to resolve it. */
interface Problem {
  readonly check: "address" | "DNS" | "network" | "TLS" | "vault" | "login" | "scope" | "credentials";
  readonly message: string;
  readonly remedy: string;
}

const UNTRUSTED = /UNABLE_TO_|SELF_SIGNED|^CERT_(UNTRUSTED|SIGNATURE_FAILURE)/u;

function tlsRemedy(code: string): string {
  if (UNTRUSTED.test(code))
    return "set spec.caBundleRef to the certificates of the authority that issued the vault's certificate";
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") return "renew the vault's certificate, and check the clocks";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "use a host in spec.url that the vault's certificate names";
  return "check that spec.url names an https server";
}

function refused({ code, detail = "", message }: RefusedError): Problem {
  if (code === "tls") return { check: "TLS", message: `the server certificate is refused: ${detail}`, remedy: tlsRemedy(detail) };
  if (code === "ca") return { check: "TLS", message, remedy: "correct the object that spec.caBundleRef names" };
  return { check: "address", message, remedy: "correct spec.url, or run the command with the flags of the operator" };
}

function transient({ code, detail = "", message }: TransientError, url: URL): Problem {
  if (detail === "ENOTFOUND" || detail === "EAI_AGAIN")
    return {
      check: "DNS",
      message: `${url.hostname} has no address (${detail})`,
      remedy: "correct the host in spec.url, or its DNS record",
    };
  if (code === "unreachable")
    return {
      check: "network",
      message: `no connection to ${url.host} (${detail})`,
      remedy: "check that the vault runs and listens there, and that no firewall or NetworkPolicy is in between",
    };
  if (code === "timeout")
    return {
      check: "network",
      message: `no response from ${url.host} in time`,
      remedy: "check the network and the load of the vault, or raise spec.timeout",
    };
  return { check: "vault", message, remedy: "check the vault and the proxies before it" };
}

/** Returns what a failure of a connection means and how to resolve it. */
export function connectionProblem(error: Error | undefined, url: URL): Problem {
  if (!isVaultError(error))
    return {
      check: "vault",
      message: error?.message ?? "no response in time",
      remedy: "run the command again, or see the log of the operator",
    };
  const { message } = error;
  switch (error.kind) {
    case "refused":
      return refused(error);
    case "transient":
      return transient(error, url);
    case "auth":
      return {
        check: error.code === "unusable" ? "credentials" : "login",
        message,
        remedy: "store the right password in the credentials Secret, or correct spec.email; vaultsync login tries a password",
      };
    case "rate-limited":
      return { check: "login", message, remedy: "wait: the vault limits requests of this account or network" };
    case "unexpected-response":
      return {
        check: "vault",
        message,
        remedy: "check that spec.url is the base URL of the vault, not that of a proxy or another service",
      };
    case "permanent":
      return error.code === "invalid_scope" || error.code === "forbidden" || error.code === "out_of_scope"
        ? { check: "scope", message, remedy: "correct spec.scope: the account must be allowed what it requests" }
        : { check: "vault", message, remedy: "check that spec.url is the base URL of the vault, not that of another service" };
  }
}
