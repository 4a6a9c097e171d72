import { isIP } from "node:net";
import { isLoopback } from "../../lib/loopback.ts";
import type { ConnectionKind } from "../api/kinds.ts";
import type { Reason } from "../api/reasons.ts";
import { hostOf } from "../vault-client/http/host-policy.ts";
import { PROXY_PREFIX } from "../vault-client/http/vault-transport.ts";
import {
  isVaultError,
  ListTooLongError,
  type PermanentError,
  type RefusedError,
  type TransientError,
  type VaultError,
} from "../vault-client/vault-error.ts";
import type { ConnectionFacts } from "./connection-facts.ts";
import { authProblem, type ConnectionProblem, noIdentities } from "./auth-problem.ts";

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
function tlsProblem(code: string, facts: ConnectionFacts, { host, hostname }: URL): Explanation {
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

const NOT_A_VAULT =
  "check that spec.url is the base URL of the vault, not that of a proxy or another service";
const VAULT_DOWN = "check the vault and the proxies before it";

/**
 * Reports whether no DNS record of the host of a URL can be wrong: the host is an address, or a
 * name of the loopback address.
 */
const isAddress = (url: URL): boolean => isIP(hostOf(url)) !== 0 || isLoopback(hostOf(url));

function addressProblem(error: RefusedError, url: URL): ConnectionProblem {
  const detail = error.detail ?? hostOf(url);
  const cause = isLoopback(detail)
    ? `${detail} is the loopback address of the operator itself`
    : `${detail} is not the address of a vault, but link-local, multicast, or that of a cloud's instance credentials`;
  const flag = isLoopback(detail)
    ? ", or start the operator with --allow-http for development"
    : "";
  const common = { check: "address", cause } as const;
  return isAddress(url)
    ? {
        ...common,
        reason: "InvalidSpec",
        field: "spec.url",
        remedy: `set spec.url to the address of the vault${flag}`,
      }
    : {
        ...common,
        reason: "VaultUnreachable",
        remedy: `correct the DNS record of ${url.hostname}, or spec.url${flag}`,
      };
}

function refused(error: RefusedError, facts: ConnectionFacts, url: URL): ConnectionProblem {
  const spec = { check: "address", reason: "InvalidSpec", field: "spec.url" } as const;
  switch (error.code) {
    case "tls":
      return {
        check: "TLS",
        reason: "VaultUnreachable",
        ...tlsProblem(error.detail ?? "", facts, url),
      };
    case "address":
      return addressProblem(error, url);
    case "ca":
      return {
        check: "TLS",
        reason: "InvalidCaBundle",
        field: "spec.caBundleRef",
        cause: error.text,
        remedy: "correct that object",
      };
    case "redirect":
      return {
        ...spec,
        cause: "the vault redirects to another address",
        remedy: "set spec.url to the final one",
      };
    case "insecure":
      return {
        ...spec,
        cause: "a password is not sent over plain http",
        remedy: "use https, or start the operator with --allow-http for development",
      };
    case "host":
      return {
        ...spec,
        cause: `--vault-hosts does not include ${url.hostname}`,
        remedy: "use an allowed host, or add this one to the flag of the operator",
      };
    case "url":
      return {
        ...spec,
        cause: "it is not a base URL",
        remedy: "write it as https://vault.example.com",
      };
  }
}

function unreachable({ detail = "" }: TransientError, { hostname, host }: URL): ConnectionProblem {
  const code = detail === "" ? "" : ` (${detail})`;
  const common = { check: "network", reason: "VaultUnreachable" } as const;
  if (detail.startsWith(PROXY_PREFIX))
    return {
      ...common,
      cause: `the proxy of the operator opens no connection to ${host}${code}`,
      remedy:
        "check that --vault-proxy is its address and that it allows the host, or name the host in --vault-no-proxy",
    };
  if (detail === "ENOTFOUND" || detail === "EAI_AGAIN")
    return {
      ...common,
      check: "DNS",
      cause: `the host ${hostname} has no address${code}`,
      remedy: "correct the host in spec.url, or its DNS record",
    };
  return {
    ...common,
    cause:
      detail === "ECONNREFUSED"
        ? `nothing listens at ${host}${code}`
        : `no connection to ${host}${code}`,
    remedy:
      "check the host and port in spec.url, that the vault runs there, and that no firewall or NetworkPolicy is in between",
  };
}

function transient(
  error: TransientError,
  { credentials }: ConnectionFacts,
  url: URL,
): ConnectionProblem {
  const common = { check: "vault", reason: "VaultUnreachable" } as const;
  const code = error.detail === undefined ? "" : ` (${error.detail})`;
  switch (error.code) {
    case "unreachable":
      return unreachable(error, url);
    case "timeout":
      return {
        ...common,
        check: "network",
        cause: `no response from ${url.host} in time`,
        remedy: "check the network and the load of the vault, or raise spec.timeout",
      };
    case "reset":
      return {
        ...common,
        cause: `${url.host} closed the connection before its response was complete${code}`,
        remedy:
          url.protocol === "http:"
            ? `if it expects TLS, write https:// in spec.url; otherwise ${VAULT_DOWN}`
            : VAULT_DOWN,
      };
    case "credentials_not_read":
      return {
        check: "credentials",
        reason: "Progressing",
        cause: `the API server did not return ${credentials}${code}`,
        remedy: "check the API server",
      };
    case "no_memory":
      return {
        check: "vault",
        reason: "Progressing",
        cause: "other responses, of vaults of this namespace or of many, take the memory for them",
        remedy: "wait; if it persists, use fewer connections with long lists in this namespace",
      };
    case "server_error":
      return {
        ...common,
        cause: `the vault responds with status ${error.status ?? 500}`,
        remedy: VAULT_DOWN,
      };
    default:
      return { ...common, cause: error.text, remedy: VAULT_DOWN };
  }
}

function tooLong(
  { operation, excess }: ListTooLongError,
  { email }: ConnectionFacts,
): ConnectionProblem {
  const less =
    operation === "list_file"
      ? `delete files of ${email}`
      : `limit it with spec.scope, for example with onlyReferenced, or have ${email} block who shares that much with it: \`vaultsync secret list\` shows the owners`;
  return {
    check: "vault",
    reason: "TooLarge",
    cause: `the list has ${excess}, and is not read`,
    remedy: `${less}, or raise --max-list-bytes of the operator`,
  };
}

function permanent(error: PermanentError, facts: ConnectionFacts): ConnectionProblem {
  const { code, text } = error;
  const { email } = facts;
  if (error instanceof ListTooLongError) return tooLong(error, facts);
  const isUnknown = code === "not_found" || code === "unsupported";
  if (isUnknown && error.operation === "exchange_identity_token") return noIdentities;
  if (code === "invalid_scope")
    return {
      check: "scope",
      reason: "InvalidSpec",
      field: "spec.scope",
      cause:
        facts.login === "identity"
          ? "the vault rejects this scope, or it is wider than what the identity may reach"
          : "the vault rejects this scope",
      remedy: "correct its attributes, values and names",
    };
  const isDenied = code === "forbidden" || code === "out_of_scope";
  const common = {
    reason: "UnexpectedResponse",
    cause: `the vault responds with the error "${text}"`,
  } as const;
  return isDenied
    ? {
        ...common,
        check: "scope",
        remedy: `allow ${email} what spec.scope requests, or correct spec.scope`,
      }
    : { ...common, check: "vault", remedy: NOT_A_VAULT };
}

/** Returns what a failure of a connection means, and how to resolve it. */
export function connectionProblem(
  error: Error | undefined,
  facts: ConnectionFacts,
): ConnectionProblem {
  const url = new URL(facts.url);
  if (!isVaultError(error)) {
    const cause = error?.message ?? "no response in time";
    return {
      check: "vault",
      reason: "VaultUnreachable",
      cause,
      remedy: "see the log of the operator",
    };
  }
  switch (error.kind) {
    case "refused":
      return refused(error, facts, url);
    case "transient":
      return transient(error, facts, url);
    case "auth":
      return authProblem(error, facts);
    case "rate-limited":
      return {
        check: "login",
        reason: "RateLimited",
        cause: "the vault limits the requests of this account or network",
        remedy: "wait; if it persists, lower spec.requestsPerSecond or raise spec.refreshInterval",
      };
    case "unexpected-response":
      return {
        check: "vault",
        reason: "UnexpectedResponse",
        cause: `the response is not that of a vault: ${error.field} is missing or malformed`,
        remedy: NOT_A_VAULT,
      };
    case "permanent":
      return permanent(error, facts);
  }
}

/**
 * Returns the failure of a list that a forced sync requested, for a resource that uses a connection
 * of this kind.
 */
export function listProblem(
  error: Error,
  facts: ConnectionFacts,
  kind: ConnectionKind,
): { reason: Reason; message: string } {
  const { reason } = connectionProblem(error, facts);
  // If a spec has to be corrected, it is the spec of the connection.
  const isOfVault =
    reason === "VaultUnreachable" || reason === "RateLimited" || reason === "UnexpectedResponse";
  const message = `the vault was not listed for the forced sync: ${explainToUser(error, facts, kind)}`;
  return { reason: isOfVault ? reason : "ConnectionNotReady", message };
}

/** Returns what the operator tried, with the address and the account. */
function attempt({ operation }: VaultError, { url, email }: ConnectionFacts): string {
  switch (operation) {
    case "generate_access_token":
    case "exchange_identity_token":
      return `cannot log in to ${url} as ${email}`;
    case "refresh_token":
      return `cannot refresh the token of ${email} at ${url}`;
    case "list_no_dup":
      return `cannot list the secrets of ${email} at ${url}`;
    case "list_file":
      return `cannot list the files of ${email} at ${url}`;
    default:
      return `cannot use ${url} as ${email}`;
  }
}

/**
 * Returns the message of a failure for a resource that uses a connection of this kind. Users of a
 * ClusterVaultConnection need not know its address, account and Secret.
 */
export function explainToUser(
  error: Error | undefined,
  facts: ConnectionFacts,
  kind: ConnectionKind,
): string {
  if (kind === "VaultConnection") return explainFailure(error, facts);
  return `${connectionProblem(error, facts).reason}: see its condition Ready, or ask who manages it`;
}

/**
 * Returns the message of a failure: the attempt with its address and account, the cause, and the
 * remedy.
 */
export function explainFailure(error: Error | undefined, facts: ConnectionFacts): string {
  const { field, cause, remedy } = connectionProblem(error, facts);
  // No request succeeds at a wrong URL: the next one would only change the message.
  const tried =
    isVaultError(error) && field !== "spec.url"
      ? attempt(error, facts)
      : `cannot use ${facts.url} as ${facts.email}`;
  return `${field === undefined ? tried : `${tried}: ${field}`}: ${cause}${remedy === "" ? "" : `; ${remedy}`}`;
}
