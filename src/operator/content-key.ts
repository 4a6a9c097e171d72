import { randomBytes } from "node:crypto";
import { MANAGED_BY, MANAGED_BY_LABEL } from "./api/names.ts";
import { Redacted } from "../lib/redacted.ts";
import { isKubeError } from "./kube/kube-error.ts";
import type { KubeApi } from "./kube/client/kube-api.ts";
import { type KubeObject, SECRETS } from "./kube/resource.ts";

const NAME = "vaultsync-content-key";
const KEY_BYTES = 32;

function keyIn(secret: KubeObject): Redacted<Uint8Array> {
  const encoded: unknown = new Map(Object.entries(secret.data ?? {})).get("key");
  const bytes = typeof encoded === "string" ? Buffer.from(encoded, "base64") : undefined;
  if (bytes?.byteLength !== KEY_BYTES) {
    throw new Error(
      `Secret ${secret.metadata.namespace}/${NAME} does not contain a key of ${KEY_BYTES} bytes: delete it; the operator recreates it`,
    );
  }
  return new Redacted(new Uint8Array(bytes));
}

/**
 * The key under which this installation digests contents (design: "content is compared by an HMAC"), from a Secret of the operator's own
 * namespace; made there the first time. Losing it costs a read of each value, nothing else.
 * @throws Error when the namespace is missing or the Secret is annotationsCorrupted
 */
export async function contentKey(api: KubeApi, namespace: string, signal: AbortSignal): Promise<Redacted<Uint8Array>> {
  const ref = { namespace, name: NAME };
  for (;;) {
    try {
      return keyIn(await api.get(SECRETS, ref, signal));
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
    }
    const secret: KubeObject = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { ...ref, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } },
      type: "vaultsync.dev/content-key",
      data: { key: randomBytes(KEY_BYTES).toString("base64") },
    };
    try {
      await api.create(SECRETS, secret, signal);
    } catch (error) {
      if (isKubeError(error, "NotFound")) {
        throw new Error(
          `the operator's namespace ${namespace} does not exist: create it with kubectl create namespace ${namespace}`,
          {
            cause: error,
          },
        );
      }
      // Another replica was faster: theirs is read above.
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
  }
}
