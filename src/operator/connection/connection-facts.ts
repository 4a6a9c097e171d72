import { connectionDefaults, type ConnectionSpec } from "../api/vault-connection.ts";
import { withoutTrailingSlashes } from "../../lib/without-trailing-slashes.ts";
import { settingsOf } from "./connection-settings.ts";
import { firstOf } from "../lib/first-of.ts";

/** The parts of a spec that messages about its connection name. */
export interface ConnectionFacts {
  /** Base URL without a trailing slash. */
  readonly url: string;
  readonly email: string;
  /** The kind of credentials. */
  readonly login: "password" | "tokens" | "identity";
  /**
   * The Secret of the credentials, and the key of a password: "Secret vault-login, key password";
   * or the ServiceAccount: "ServiceAccount vaultsync".
   */
  readonly credentials: string;
  /** The limits that `spec.scope` sets: "secretName other"; empty if it sets none. */
  readonly scope: string;
  /**
   * The object of the authorities and its key: "ConfigMap vault-ca, key ca.crt"; `undefined`: the
   * public ones.
   */
  readonly caBundle: string | undefined;
}

/** Returns the name of the credentials Secret of a connection, if it has one. */
export function credentialsName({ auth }: ConnectionSpec): string | undefined {
  return auth.passwordSecretRef?.name ?? auth.tokenSecretRef?.name;
}

/** Returns the audience of the ServiceAccount's token of a connection. */
export const audienceOf = ({ url, auth }: ConnectionSpec): string =>
  auth.serviceAccountRef?.audience ?? withoutTrailingSlashes(url);

function scopeText(scope: NonNullable<ConnectionSpec["scope"]> = {}): string {
  return Object.entries(scope)
    .flatMap(([field, values]) => {
      if (!Array.isArray(values) || values.includes("*")) return [];
      return `${field} ${firstOf(values)}`;
    })
    .join("; ");
}

function loginFacts(spec: ConnectionSpec): Pick<ConnectionFacts, "login" | "credentials"> {
  const { passwordSecretRef, tokenSecretRef, serviceAccountRef } = spec.auth;
  if (serviceAccountRef !== undefined)
    return { login: "identity", credentials: `ServiceAccount ${serviceAccountRef.name}` };
  if (tokenSecretRef !== undefined)
    return { login: "tokens", credentials: `Secret ${tokenSecretRef.name}` };
  const key = passwordSecretRef?.key ?? connectionDefaults.passwordKey;
  return { login: "password", credentials: `Secret ${passwordSecretRef?.name}, key ${key}` };
}

/** Returns what messages about a connection with this spec name. */
export function factsOf(spec: ConnectionSpec): ConnectionFacts {
  const { caBundleRef: bundle } = spec;
  return {
    url: settingsOf(spec).url,
    email: spec.email,
    ...loginFacts(spec),
    scope: scopeText(spec.scope),
    caBundle:
      bundle && `${bundle.kind} ${bundle.name}, key ${bundle.key ?? connectionDefaults.caKey}`,
  };
}
