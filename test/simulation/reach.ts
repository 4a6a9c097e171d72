import { type KubeObject } from "../../src/operator/kube/resource.ts";
import { isForCluster } from "../../src/operator/config.ts";
import { refusalOf } from "../../src/operator/vault-client/http/host-policy.ts";
import { isFanOut } from "./fanned-out.ts";
import type { ConnectionSpec } from "./invariants/spec-history.ts";
import type { Spec } from "./invariants/spec-items.ts";
import { OTHER_TYPE } from "./random-flags.ts";
import type { World } from "./world.ts";

/**
 * Reports whether the operator works with an object. Objects of the cluster need an operator for
 * all namespaces.
 */
export function isServed(
  { rights, replicas }: World,
  { kind, metadata: { namespace } }: KubeObject,
): boolean {
  const isOfCluster = namespace === undefined || isFanOut(kind);
  return isOfCluster ? isForCluster(replicas.config) : rights.isServed(namespace);
}

/** Reports whether the flags forbid the address of a vault. */
export function isRefused(
  { replicas: { config } }: World,
  { url }: Pick<ConnectionSpec, "url">,
): boolean {
  return (
    refusalOf(new URL(url), { allowHttp: config.allowHttp, allowedHosts: config.vaultHosts }) !==
    undefined
  );
}

/** Reports whether the flags allow the type of the target. */
export function isTypeAllowed({ replicas: { config } }: World, { target }: Spec): boolean {
  const { type } = (target ?? {}) as { readonly type?: string };
  return type !== OTHER_TYPE || config.allowedSecretTypes.includes(OTHER_TYPE);
}
