import { randomBytes } from "node:crypto";
import { MANAGED_BY, MANAGED_BY_LABEL } from "./api/names.ts";
import { Backoff } from "../lib/backoff.ts";
import type { Clock } from "../lib/clock.ts";
import type { Random } from "../lib/random.ts";
import { Redacted } from "../lib/redacted.ts";
import { isKubeError } from "./kube/kube-error.ts";
import type { KubeApi } from "./kube/client/kube-api.ts";
import type { RequestProblems } from "./kube/request-problems.ts";
import { type KubeObject, SECRETS } from "./kube/resource.ts";

const NAME = "vaultsync-content-key";
const KEY_BYTES = 32;
/** Delays between two attempts. */
const BACKOFF = { baseMs: 1_600, maxMs: 30_000 };

export interface ContentKeyOptions {
  readonly api: KubeApi;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly problems?: RequestProblems | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

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

/** Returns the key; `undefined` if the Secret was just created, by this process or another one. */
async function readOrCreate(
  api: KubeApi,
  namespace: string,
  signal: AbortSignal,
): Promise<Redacted<Uint8Array> | undefined> {
  const ref = { namespace, name: NAME };
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
  await api.create(SECRETS, secret, signal).catch((error: unknown) => {
    if (!isKubeError(error, "AlreadyExists")) throw error;
  });
  return undefined;
}

/**
 * Returns the HMAC key for the content of targets (docs/design/engine.md#identity-of-target-bytes).
 * The operator creates it on its first start and stores it in a Secret in its own namespace. If the
 * key is lost, the operator reads each value from the vault once more.
 *
 * Failures are reported and retried with backoff; rejects only with the signal's reason.
 */
export async function contentKey(
  options: ContentKeyOptions,
  signal: AbortSignal,
): Promise<Redacted<Uint8Array>> {
  const { api, namespace, problems, clock, random } = options;
  const backoff = new Backoff(BACKOFF, random);
  using stack = new DisposableStack();
  stack.defer(() => problems?.recovered(options));
  for (;;) {
    try {
      const key = await readOrCreate(api, namespace, signal);
      if (key !== undefined) return key;
    } catch (error) {
      signal.throwIfAborted();
      problems?.failed(options, { resource: SECRETS.plural, ownNamespace: namespace }, error);
      const requestedMs = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
      await clock
        .sleep(Math.max(requestedMs, backoff.next()), signal)
        .catch(() => signal.throwIfAborted());
    }
  }
}
