import { connectionDefaults, type ConnectionSpec } from "../../api/vault-connection.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { CredentialSource, StoredPassword } from "../../vault-client/auth/credentials.ts";
import { CredentialsError } from "../../vault-client/vault-error.ts";
import { credentialsName } from "../../connection/connection-facts.ts";
import { readCredentials, textOf } from "./credentials-secret.ts";
import { SecretTokenStore } from "./secret-token-store.ts";

/** Returns the source of the credentials that a connection names in its namespace. */
export function credentialSource(
  api: KubeApi,
  namespace: string,
  spec: ConnectionSpec,
): CredentialSource {
  const { url, auth } = spec;
  const name = credentialsName(spec);
  if (auth.tokenSecretRef !== undefined)
    return { kind: "tokens", store: new SecretTokenStore(api, { namespace, name, url }) };
  const key = auth.passwordSecretRef?.key ?? connectionDefaults.passwordKey;
  const read = async (signal: AbortSignal): Promise<StoredPassword> => {
    const secret = await readCredentials(api, { namespace, name, url, keys: [key] }, signal);
    const password = textOf(secret, key);
    if (password === undefined)
      throw new CredentialsError(
        `Secret ${name} has no value under the key ${key}: add it, or set passwordSecretRef.key`,
      );
    return { password, version: secret.metadata.resourceVersion ?? "" };
  };
  return { kind: "password", read };
}
