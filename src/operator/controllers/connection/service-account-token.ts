import { hash } from "node:crypto";
import type { ConnectionSpec } from "../../api/vault-connection.ts";
import { audienceOf } from "../../connection/connection-facts.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { IdentityTokenSource } from "../../vault-client/auth/credentials.ts";
import { CredentialsError, MissingCredentialsError } from "../../vault-client/vault-error.ts";

/** Lifetime of a requested token in seconds: the least that Kubernetes allows. */
const LIFETIME_SECONDS = 600;

export interface CredentialSourceOptions {
  readonly api: KubeApi;
  /** Namespace of the Secret or ServiceAccount. */
  readonly namespace: string;
  /** Audiences in addition to the address of the vault. */
  readonly audiences: readonly string[];
  /** Identifies the connection and its spec: a change of it ends the pause of a rejected login. */
  readonly fingerprint: string;
}

/**
 * Reports whether a token for this audience may be sent to a vault. For any other one, a user who
 * can only write connections would get a token that another service accepts, the API server
 * included.
 */
function isAllowed(audience: string, url: string, audiences: readonly string[]): boolean {
  return audiences.includes(audience) || URL.parse(audience)?.host === new URL(url).host;
}

/** Returns the source of the tokens of the ServiceAccount that a connection names. */
export function serviceAccountToken(
  spec: ConnectionSpec,
  name: string,
  { api, namespace, audiences, fingerprint }: CredentialSourceOptions,
): IdentityTokenSource {
  const audience = audienceOf(spec);
  const ref = { namespace, name };
  const id = JSON.stringify([namespace, name, fingerprint]);
  return {
    id,
    version: `ServiceAccount/${name}/${hash("sha256", id).slice(0, 8)}`,
    async read(signal) {
      if (!isAllowed(audience, spec.url, audiences))
        throw new CredentialsError(
          `spec.auth.serviceAccountRef.audience: a token for ${audience} is not sent to this vault; omit the field, or add the audience to --token-audiences of the operator`,
        );
      try {
        return await api.requestToken(ref, { audience, lifetimeSeconds: LIFETIME_SECONDS }, signal);
      } catch (error) {
        if (isKubeError(error, "NotFound"))
          throw new MissingCredentialsError(
            `ServiceAccount ${name} not found: create it with kubectl create serviceaccount ${name} -n ${namespace}`,
          );
        if (isKubeError(error, "Forbidden"))
          throw new CredentialsError(
            `permission denied: ${error.operation}; add ${name} to the value serviceAccountLogins of the chart, or apply deploy/components/service-account-logins`,
          );
        if (isKubeError(error, "Invalid"))
          throw new CredentialsError(
            `the API server rejects a token of ServiceAccount ${name} for the audience ${audience}`,
          );
        throw error;
      }
    },
  };
}
