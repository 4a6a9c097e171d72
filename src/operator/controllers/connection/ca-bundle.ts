import { connectionDefaults, type ConnectionSpec } from "../../api/vault-connection.ts";
import { isKubeError, permissionDenied } from "../../kube/kube-error.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { pemCertificates } from "../../lib/pem-certificates.ts";
import { CONFIG_MAPS, type KubeObject, SECRETS } from "../../kube/resource.ts";

/**
 * PEM certificates (`undefined`: the public authorities), or the reason why they cannot be used.
 */
export type CaBundle = { readonly pem: string | undefined } | { readonly problem: string };

/** Returns only the certificates in a text: the object may contain a private key. */
function certificatesIn(text: string): string | undefined {
  try {
    const certificates = pemCertificates(text);
    return certificates.length === 0 ? undefined : certificates.join("\n");
  } catch {
    return undefined;
  }
}

function textUnder(object: KubeObject, kind: "ConfigMap" | "Secret", key: string): string {
  const value: unknown = new Map(Object.entries(object.data ?? {})).get(key);
  if (typeof value !== "string") return "";
  return kind === "Secret" ? Buffer.from(value, "base64").toString("utf8") : value;
}

/**
 * Reads the authorities that a connection trusts. @throws KubeError when the API server is
 * unavailable
 */
export async function readCaBundle(
  api: KubeApi,
  namespace: string,
  { kind, name, key = connectionDefaults.caKey }: NonNullable<ConnectionSpec["caBundleRef"]>,
  signal: AbortSignal,
): Promise<CaBundle> {
  try {
    const object = await api.get(
      kind === "Secret" ? SECRETS : CONFIG_MAPS,
      { namespace, name },
      signal,
    );
    const pem = certificatesIn(textUnder(object, kind, key));
    if (pem !== undefined) return { pem };
    return {
      problem: `spec.caBundleRef: ${kind} ${name} has no readable PEM certificates under the key ${key}`,
    };
  } catch (error) {
    if (isKubeError(error, "NotFound"))
      return {
        problem: `spec.caBundleRef: ${kind} ${name} not found in namespace ${namespace}: create it, or correct the name`,
      };
    if (isKubeError(error, "Forbidden")) return { problem: permissionDenied(error.operation) };
    throw error;
  }
}
