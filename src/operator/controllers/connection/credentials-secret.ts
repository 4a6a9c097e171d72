import { CREDENTIALS_TYPE, HOSTS_ANNOTATION } from "../../api/names.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { isKubeError, permissionDenied } from "../../kube/kube-error.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { type KubeObject, SECRETS } from "../../kube/resource.ts";
import { CredentialsError, MissingCredentialsError } from "../../vault-client/vault-error.ts";

/**
 * A Secret in the namespace of its connection, with credentials that may be sent to the host of
 * `url`.
 */
export interface CredentialsRef {
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
export async function readCredentials(
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
export function textOf(secret: KubeObject, key: string): Redacted<string> | undefined {
  const encoded: unknown = new Map(Object.entries(secret.data ?? {})).get(key);
  if (typeof encoded !== "string") return undefined;
  const text = Buffer.from(encoded, "base64")
    .toString("utf8")
    .replace(/\r?\n$/, "");
  return text === "" ? undefined : new Redacted(text);
}
