import { connectionDefaults, type ConnectionSpec } from "../api/vault-connection.ts";
import { settingsOf } from "./connection-settings.ts";

/** The parts of a spec that messages about its connection name. */
export interface ConnectionFacts {
  /** Base URL without a trailing slash. */
  readonly url: string;
  readonly email: string;
  readonly usesTokens: boolean;
  /**
   * The Secret of the credentials, and the key of a password: "Secret vault-login, key password".
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

/** Returns the name of the credentials Secret of a connection. */
export function credentialsName({ auth }: ConnectionSpec): string {
  return auth.passwordSecretRef?.name ?? auth.tokenSecretRef?.name ?? "";
}

/** Number of values of an attribute in a message. */
const SHOWN = 3;

function scopeText(scope: NonNullable<ConnectionSpec["scope"]> = {}): string {
  return Object.entries(scope)
    .flatMap(([field, values]) => {
      if (!Array.isArray(values) || values.includes("*")) return [];
      const more = values.length > SHOWN ? ` and ${values.length - SHOWN} more` : "";
      return `${field} ${values.slice(0, SHOWN).join(", ")}${more}`;
    })
    .join("; ");
}

/** Returns what messages about a connection with this spec name. */
export function factsOf(spec: ConnectionSpec): ConnectionFacts {
  const { auth, caBundleRef: bundle } = spec;
  const secret = `Secret ${credentialsName(spec)}`;
  const usesTokens = auth.passwordSecretRef === undefined;
  return {
    url: settingsOf(spec).url,
    email: spec.email,
    usesTokens,
    credentials: usesTokens
      ? secret
      : `${secret}, key ${auth.passwordSecretRef?.key ?? connectionDefaults.passwordKey}`,
    scope: scopeText(spec.scope),
    caBundle:
      bundle && `${bundle.kind} ${bundle.name}, key ${bundle.key ?? connectionDefaults.caKey}`,
  };
}
