import { CREDENTIALS_TYPE, HOSTS_ANNOTATION } from "../../api/names.ts";
import { connectionDefaults, type ConnectionSpec } from "../../api/vault-connection.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { type KubeObject, SECRETS } from "../../kube/resource.ts";

/** The credentials Secret is missing or must not be used; the message says how to fix it. */
export class CredentialsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CredentialsError";
  }
}

function checkType(secret: KubeObject, namespace: string, key: string): void {
  if (secret.type === CREDENTIALS_TYPE) return;
  const { name } = secret.metadata;
  throw new CredentialsError(
    `Secret ${name} must have type ${CREDENTIALS_TYPE} to be sent to a vault. Create one with: ` +
      `kubectl create secret generic NAME -n ${namespace} --type=${CREDENTIALS_TYPE} --from-file=${key}=FILE`,
  );
}

/** Checks the hosts a Secret is limited to, so that a user who can only write connections cannot have it sent to another host. */
function checkHost(secret: KubeObject, url: string): void {
  const allowed = secret.metadata.annotations?.[HOSTS_ANNOTATION];
  if (allowed === undefined) return;
  const { host, hostname } = new URL(url);
  const hosts = allowed.split(",").map((entry) => entry.trim().toLowerCase());
  if (hosts.includes(hostname) || hosts.includes(host)) return;
  throw new CredentialsError(
    `the annotation ${HOSTS_ANNOTATION} of Secret ${secret.metadata.name} does not allow the host ${hostname}: add it there, or use another Secret`,
  );
}

/**
 * Reads the password of a connection. It is read again for each login, so that it stays in memory no longer than necessary.
 * @throws CredentialsError; KubeError when the API server is unavailable
 */
export async function readPassword(
  api: KubeApi,
  namespace: string,
  { url, auth }: ConnectionSpec,
  signal: AbortSignal,
): Promise<Redacted<string>> {
  if (auth.passwordSecretRef === undefined) throw new CredentialsError("spec.auth has no passwordSecretRef");
  const { name, key = connectionDefaults.passwordKey } = auth.passwordSecretRef;
  const secret = await api.get(SECRETS, { namespace, name }, signal).catch((error: unknown) => {
    if (!isKubeError(error, "NotFound")) throw error;
    throw new CredentialsError(
      `Secret ${name} not found: create it with kubectl create secret generic ${name} -n ${namespace} --type=${CREDENTIALS_TYPE} --from-file=${key}=FILE`,
    );
  });
  checkType(secret, namespace, key);
  checkHost(secret, url);
  const data = new Map(Object.entries(secret.data ?? {}));
  const encoded: unknown = data.get(key);
  if (typeof encoded !== "string" || encoded === "")
    throw new CredentialsError(`Secret ${name} has no value under the key ${key}: add it, or set passwordSecretRef.key`);
  // The line break that an editor or echo appends is not part of the password.
  return new Redacted(
    Buffer.from(encoded, "base64")
      .toString("utf8")
      .replace(/\r?\n$/, ""),
  );
}
