import { isKubeError, permissionDenied } from "../../kube/kube-error.ts";
import { SECRETS, type KubeObject } from "../../kube/resource.ts";
import type {
  StoredTokens,
  TokenStore,
  CredentialSource,
  StoredPassword,
} from "../../vault-client/auth/credentials.ts";
import { connectionDefaults, type ConnectionSpec } from "../../api/vault-connection.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { isToken } from "../../vault-client/readers/read-token.ts";
import { CredentialsError, MissingCredentialsError } from "../../vault-client/vault-error.ts";
import { credentialsName } from "../../connection/connection-facts.ts";
import { type CredentialSourceOptions, serviceAccountToken } from "./service-account-token.ts";
import { CREDENTIALS_TYPE, HOSTS_ANNOTATION } from "../../api/names.ts";
import { Redacted } from "../../../lib/redacted.ts";

/**
 * A Secret in the namespace of its connection, with credentials that may be sent to the host of
 * `url`.
 */
interface CredentialsRef {
  readonly namespace: string;
  readonly name: string;
  /** Keys that have to exist, for the remedy in messages. */
  readonly keys: readonly string[];
  readonly url: string;
}

const createCommand = ({ namespace, keys }: CredentialsRef, name: string): string =>
  `kubectl create secret generic ${name} -n ${namespace} --type=${CREDENTIALS_TYPE} ${keys.map((key) => `--from-file=${key}=FILE`).join(" ")}`;

function checkType(secret: KubeObject, ref: CredentialsRef): void {
  if (secret.type === CREDENTIALS_TYPE) return;
  // The type of a Secret cannot be changed.
  const other = `${ref.name.slice(0, 240)}-credentials`;
  throw new CredentialsError(
    `Secret ${ref.name} must have the type ${CREDENTIALS_TYPE} to be sent to a vault: create one with ${createCommand(ref, other)}, and set spec.auth to its name ${other}`,
  );
}

/**
 * Checks the hosts a Secret is limited to: a user who can only write connections must not have it
 * sent to another host.
 */
function checkHost(secret: KubeObject, { name, url }: CredentialsRef): void {
  const allowed = secret.metadata.annotations?.[HOSTS_ANNOTATION];
  if (allowed === undefined) return;
  const { host, hostname } = new URL(url);
  const hosts = allowed.split(",").map((entry) => entry.trim().toLowerCase());
  if (hosts.includes(hostname) || hosts.includes(host)) return;
  throw new CredentialsError(
    `the annotation ${HOSTS_ANNOTATION} of Secret ${name} does not allow the host ${hostname}: add it there, or use another Secret`,
  );
}

/**
 * Reads a Secret of credentials. Each use reads it again: credentials stay in memory no longer than
 * necessary.
 * @throws CredentialsError, MissingCredentialsError; KubeError when the API server is unavailable
 */
async function readCredentials(
  api: KubeApi,
  ref: CredentialsRef,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { namespace, name } = ref;
  const secret = await api.get(SECRETS, { namespace, name }, signal).catch((error: unknown) => {
    if (isKubeError(error, "NotFound"))
      throw new MissingCredentialsError(
        `Secret ${name} not found: create it with ${createCommand(ref, name)}`,
      );
    if (isKubeError(error, "Forbidden"))
      throw new CredentialsError(permissionDenied(error.operation));
    throw error;
  });
  checkType(secret, ref);
  checkHost(secret, ref);
  return secret;
}

/**
 * Returns the text under a key without the line break that an editor or echo appends; `undefined`
 * if there is none.
 */
function textOf(secret: KubeObject, key: string): Redacted<string> | undefined {
  const encoded: unknown = new Map(Object.entries(secret.data ?? {})).get(key);
  if (typeof encoded !== "string") return undefined;
  const text = Buffer.from(encoded, "base64")
    .toString("utf8")
    .replace(/\r?\n$/, "");
  return text === "" ? undefined : new Redacted(text);
}

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
