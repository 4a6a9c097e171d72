import { isKubeError } from "../../kube/kube-error.ts";
import { SECRETS } from "../../kube/resource.ts";
import type {
  StoredTokens,
  TokenStore,
  CredentialSource,
  StoredPassword,
} from "../../vault-client/auth/credentials.ts";
import { type CredentialsRef, readCredentials, textOf } from "./credentials-secret.ts";
import { connectionDefaults, type ConnectionSpec } from "../../api/vault-connection.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { isToken } from "../../vault-client/readers/read-token.ts";
import { CredentialsError } from "../../vault-client/vault-error.ts";
import { credentialsName } from "../../connection/connection-facts.ts";
import { type CredentialSourceOptions, serviceAccountToken } from "./service-account-token.ts";

/** Returns the source of the credentials that a connection names in its namespace. */
export function credentialSource(
  spec: ConnectionSpec,
  options: CredentialSourceOptions,
): CredentialSource {
  const { url, auth } = spec;
  const { api, namespace } = options;
  if (auth.serviceAccountRef !== undefined)
    return { kind: "identity", ...serviceAccountToken(spec, auth.serviceAccountRef.name, options) };
  const name = credentialsName(spec) ?? "";
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

const ACCESS = "access_token";
const REFRESH = "refresh_token";

const encoded = (text: string): string => Buffer.from(text).toString("base64");

/**
 * Keeps a pair of tokens in a credentials Secret, under the keys `access_token` and
 * `refresh_token`.
 */
export class SecretTokenStore implements TokenStore {
  readonly #api: KubeApi;
  readonly #ref: CredentialsRef;

  constructor(api: KubeApi, ref: Omit<CredentialsRef, "keys">) {
    this.#api = api;
    this.#ref = { ...ref, keys: [ACCESS, REFRESH] };
  }

  async read(signal: AbortSignal): Promise<StoredTokens> {
    const secret = await readCredentials(this.#api, this.#ref, signal);
    const [access, refresh] = [textOf(secret, ACCESS), textOf(secret, REFRESH)];
    if (access === undefined || !isToken(access.reveal()))
      throw new CredentialsError(
        `Secret ${this.#ref.name} has no access token under the key ${ACCESS}: store a pair of tokens`,
      );
    return { access, refresh, version: secret.metadata.resourceVersion ?? "" };
  }

  async write({ access, refresh, version }: StoredTokens, signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = this.#ref;
    const data = {
      [ACCESS]: encoded(access.reveal()),
      ...(refresh !== undefined && { [REFRESH]: encoded(refresh.reveal()) }),
    };
    try {
      await this.#api.patch(
        SECRETS,
        { namespace, name, resourceVersion: version },
        { data },
        signal,
      );
      return true;
    } catch (error) {
      if (isKubeError(error, "Conflict", "NotFound")) return false;
      if (isKubeError(error, "Forbidden", "Invalid"))
        throw new CredentialsError(
          `cannot store the refreshed tokens in Secret ${name}: it must be mutable, and the operator allowed to patch it`,
        );
      throw error;
    }
  }
}
