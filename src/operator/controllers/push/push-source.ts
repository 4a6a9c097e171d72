import { CREDENTIALS_TYPE } from "../../api/names.ts";
import { reservedSecretType } from "../../api/vault-secret.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { isKubeError, permissionDenied } from "../../kube/kube-error.ts";
import { type KubeObject, SECRETS } from "../../kube/resource.ts";
import { readContent } from "../../sync/content.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import { factsOf, type KeyFacts } from "../../push/push-content.ts";
import type { PushMemory } from "./push-memory.ts";
import type { PushResource } from "../../push/push-resource.ts";

/** The Secret has changed since it was read, so what was decided no longer counts. */
export class SourceChangedError extends Error {}

/**
 * The Secret of a VaultPush in one reconcile. Its metadata is read first; the Secret itself only
 * when it has changed, or when its bytes are pushed. The bytes are not kept longer than the
 * reconcile.
 */
export class PushSource {
  readonly #api: KubeApi;
  readonly #contentKey: Redacted<Uint8Array>;
  readonly #resource: PushResource;
  readonly #memory: PushMemory;
  readonly #signal: AbortSignal;
  #secret: KubeObject | undefined;

  constructor(
    { api, contentKey }: { readonly api: KubeApi; readonly contentKey: Redacted<Uint8Array> },
    {
      resource,
      memory,
      signal,
    }: {
      readonly resource: PushResource;
      readonly memory: PushMemory;
      readonly signal: AbortSignal;
    },
  ) {
    this.#api = api;
    this.#contentKey = contentKey;
    this.#resource = resource;
    this.#memory = memory;
    this.#signal = signal;
  }

  /** Returns the keys of the Secret, or why it cannot be pushed. @throws KubeError */
  async facts(): Promise<ReadonlyMap<string, KeyFacts> | ReadyCondition> {
    const { namespace, secret: name, items } = this.#resource;
    const known = this.#memory.source;
    try {
      if (known !== undefined) {
        const { metadata } = await this.#api.getMetadata(
          SECRETS,
          { namespace, name },
          this.#signal,
        );
        const isKnown = items.every(({ secretKey }) => known.keys.has(secretKey));
        if (metadata.resourceVersion === known.resourceVersion && isKnown) return known.facts;
      }
      const secret = await this.#api.get(SECRETS, { namespace, name }, this.#signal);
      const problem = typeProblem(secret);
      if (problem !== undefined) return problem;
      this.#secret = secret;
      const keys = new Set(items.map(({ secretKey }) => secretKey));
      const facts = factsOf(this.#contentKey, secret, keys);
      this.#memory.source = { resourceVersion: secret.metadata.resourceVersion ?? "", keys, facts };
      return facts;
    } catch (error) {
      if (isKubeError(error, "NotFound")) {
        this.#memory.source = undefined;
        const message = `the Secret ${name} does not exist in namespace ${namespace}: create it, or correct spec.secret.name; nothing is removed from the vault`;
        return notReady("SourceMissing", message);
      }
      if (isKubeError(error, "Forbidden"))
        return notReady("TargetForbidden", permissionDenied(error.operation));
      throw error;
    }
  }

  /** Returns the bytes that the facts are about. @throws SourceChangedError; KubeError */
  async bytes(key: string): Promise<Uint8Array> {
    const { namespace, secret: name } = this.#resource;
    this.#secret ??= await this.#api.get(SECRETS, { namespace, name }, this.#signal);
    const bytes = readContent("Secret", this.#secret).get(key);
    if (
      this.#secret.metadata.resourceVersion !== this.#memory.source?.resourceVersion ||
      bytes === undefined
    ) {
      throw new SourceChangedError();
    }
    return bytes;
  }
}

/** Tokens of Kubernetes and credentials of the operator are never sent to a vault. */
function typeProblem({ type, metadata }: KubeObject): ReadyCondition | undefined {
  const text = typeof type === "string" ? type : "";
  if (!reservedSecretType(text)) return undefined;
  const what = text === CREDENTIALS_TYPE ? "credentials of the operator" : `of the type ${text}`;
  return notReady(
    "InvalidSpec",
    `spec.secret.name: the Secret ${metadata.name} is ${what}, which are never pushed: name another one`,
  );
}
