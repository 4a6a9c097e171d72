import { KubeError } from "./kube-error.ts";
import type { FailedRequest } from "./request-problems.ts";
import { firstOf } from "../lib/first-of.ts";

const TLS = /CERT|^UNABLE_TO_|SELF_SIGNED|^ERR_TLS|^ERR_SSL|^EPROTO$/u;

/** Kinds of failures. An earlier kind explains the later ones. */
const severity = ["NotServed", "Unauthorized", "Forbidden", "Unavailable", "Timeout"];

export const kindOf = (error: unknown): string => (error instanceof KubeError ? error.kind : "");
export const rankOf = (error: unknown): number =>
  [...severity, kindOf(error)].indexOf(kindOf(error));

/** Remedies of an administrator for requests that the API server denies or does not serve. */
export interface ApiRemedies {
  /** Returns how the CRDs of these resources are installed. */
  install(resources: readonly string[]): string;
  /** The remedy of a missing permission outside of a served namespace. */
  readonly grant: string;
  /** Returns the command that grants access to a namespace. */
  grantIn(namespace: string): string;
}

interface Installation {
  /** Host and port of the API server. */
  readonly host: string;
  readonly remedies: ApiRemedies;
}

/**
 * Returns what is wrong and the remedy. @param failing all requests that fail; the text names the
 * resources with the same kind of failure
 */
export function explainProblem(
  { subject, error }: FailedRequest,
  failing: readonly FailedRequest[],
  { host, remedies }: Installation,
): string {
  if (!(error instanceof KubeError)) {
    // Errors of the operator's own requests are its own: no response is quoted in them.
    return subject.ownNamespace !== undefined && error instanceof Error
      ? error.message
      : `the API server ${host} cannot be used: unexpected response`;
  }
  const { ownNamespace } = subject;
  if (ownNamespace !== undefined && error.kind === "NotFound") {
    return `the operator's namespace ${ownNamespace} does not exist: create it with "kubectl create namespace ${ownNamespace}"`;
  }
  const alike = failing
    .filter((other) => kindOf(other.error) === error.kind)
    .map((other) => other.subject.resource);
  const text = explain(error, host, [...new Set(alike)].sort(), remedies);
  return ownNamespace === undefined || text.includes(error.message)
    ? text
    : `${error.message}: ${text}`;
}

/** Returns which namespaces the API server denies, and the remedy. */
export function explainDenied(
  denied: readonly FailedRequest[],
  { host, remedies }: Installation,
): string {
  const names = [...new Set(denied.map(({ subject }) => subject.namespace ?? ""))].sort();
  const [first] = denied;
  const words =
    first?.error instanceof KubeError ? (first.error.explanation ?? first.error.message) : "";
  const where = names.length === 1 ? `namespace ${names[0]}` : `namespaces ${firstOf(names)}`;
  const [namespace = "NAMESPACE"] = names.length === 1 ? names : [];
  const each = names.length === 1 ? "it" : "each of them that exists";
  return (
    `the API server ${host} denies access to the ${where}: ${words}. Grant ${each} with ` +
    `${remedies.grantIn(namespace)}, or remove it from the list of namespaces`
  );
}

function explain(
  error: KubeError,
  host: string,
  resources: readonly string[],
  remedies: ApiRemedies,
): string {
  const { kind, reason, explanation } = error;
  const names = firstOf(resources);
  const words = explanation === undefined ? "" : ` ("${explanation}")`;
  switch (kind) {
    case "NotServed":
      return `the API server ${host} does not serve ${names}: ${remedies.install(resources)}`;
    case "Unauthorized":
      return reason === "CredentialsUnreadable"
        ? `the credentials for the API server ${host} cannot be read: check the kubeconfig and its plugins`
        : `the API server ${host} rejects the credentials${words}: renew the token or certificate in the kubeconfig`;
    case "Forbidden":
      return `the API server ${host} denies access to ${names}: ${explanation ?? error.message}. ${remedies.grant}`;
    case "Timeout":
      return `the API server ${host} does not respond in time: check the network and its load`;
    case "Unavailable":
      return unavailable(host, error);
    default:
      return `the API server ${host} cannot be used: ${error.message}`;
  }
}

function unavailable(host: string, { reason, message }: KubeError): string {
  if (TLS.test(reason))
    return `the certificate of the API server ${host} is not trusted (${reason}): check certificate-authority in the kubeconfig`;
  if (reason === "ECONNREFUSED")
    return `nothing listens at the API server's address ${host} (${reason}): check server in the kubeconfig`;
  if (reason === "ENOTFOUND" || reason === "EAI_AGAIN")
    return `the host of the API server ${host} has no address (${reason}): check server in the kubeconfig`;
  return `the API server ${host} is not available: ${message}`;
}
