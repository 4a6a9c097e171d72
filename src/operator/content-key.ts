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
 * Returns the HMAC key for the content of targets (docs/design/engine.md#identity-of-target-bytes). It is stored in a Secret in
 * the namespace of the operator, which creates it on its first start. If it is lost, each value is read from the vault once more.
 * @throws Error when the namespace is missing or the Secret is malformed
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
      // Another replica was faster: the loop reads its key.
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
  }
}
