import type { Clock } from "../../lib/clock.ts";
import { isObject } from "../../lib/is-object.ts";
import {
  clusterVaultConnectionKind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../api/kinds.ts";
import { rolloutRestart, type WorkloadKind } from "../api/rollout-restart.ts";
import type { KubeApi } from "../kube/client/kube-api.ts";
import type { AccessAttributes, AccessReviewer } from "../kube/client/access-review.ts";
import { isKubeError } from "../kube/kube-error.ts";
import { ALL_NAMESPACES, type KubeObject, LEASES } from "../kube/resource.ts";
import { type Check, checksOf, someOf } from "./check.ts";
import { checkCrdFields } from "./check-crd-fields.ts";
import { leaseCheck } from "./lease-check.ts";
import { clusterAccess, type OperatorFlags, requiredAccess } from "./permissions.ts";

/** An operator, and the namespace that it is to work in. */
export interface OperatorPlace {
  readonly api: KubeApi & AccessReviewer;
  /** Namespace whose resources are checked. */
  readonly namespace: string;
  readonly operatorNamespace: string;
  readonly serviceAccount: string;
  readonly flags: OperatorFlags;
  readonly clock: Clock;
}

/** The kinds that an operator needs to start. The fields of the CRDs tell which others are missing. */
const KINDS = [
  vaultConnectionKind,
  vaultSecretKind,
  vaultFileKind,
  vaultPushKind,
  clusterVaultConnectionKind,
];

const { ok, failed, skipped } = checksOf("operator");
const cluster = checksOf("cluster");

/**
 * Checks what the whole cluster needs: CRDs, and a running operator.
 * @throws KubeError without a usable API server
 */
export async function* checkCluster(
  place: OperatorPlace,
  signal: AbortSignal,
): AsyncGenerator<Check> {
  const served = await checkServed(place, signal);
  yield served;
  if (served.result === "failed") return;
  yield await checkCrdFields(place.api, signal);
  yield await checkLease(place, signal);
}

async function checkServed({ api, namespace }: OperatorPlace, signal: AbortSignal): Promise<Check> {
  const missing: string[] = [];
  for (const kind of KINDS) {
    try {
      const scope = kind.namespaced ? namespace : ALL_NAMESPACES;
      for await (const _ of api.list(
        kind,
        { namespace: scope, paged: true, metadataOnly: true },
        signal,
      ))
        break;
    } catch (error) {
      // A user of one namespace need not be allowed to list these, and cannot know then whether
      // they are served.
      if (isKubeError(error, "Forbidden") && !kind.namespaced) continue;
      if (!isKubeError(error, "NotServed")) throw error;
      missing.push(`${kind.plural}.${kind.group}`);
    }
  }
  if (missing.length === 0)
    return cluster.ok("CRDs", `the API server serves ${KINDS.map(({ kind }) => kind).join(", ")}`);
  const message = `the API server does not serve ${missing.join(", ")}`;
  return cluster.failed("CRDs", message, "install the CRDs: kubectl apply -k crds");
}

async function checkLease(place: OperatorPlace, signal: AbortSignal): Promise<Check> {
  const { api, operatorNamespace: namespace, clock } = place;
  const leases: KubeObject[] = [];
  try {
    for await (const { items } of api.list(LEASES, { namespace, paged: true }, signal))
      leases.push(...items);
  } catch (error) {
    if (!isKubeError(error, "Forbidden")) throw error;
    return skipped("running", `no permission to list Leases in namespace ${namespace}`);
  }
  return leaseCheck(leases, namespace, clock.now());
}

const describe = ({ verb, resource, subresource, namespace }: AccessAttributes): string =>
  `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`} in ${namespace || "the cluster"}`;

/** Returns the kinds of workloads that resources name, of those that are valid. */
const restartedBy = (resources: readonly KubeObject[]): ReadonlySet<WorkloadKind> =>
  new Set(
    resources
      .map(({ spec }) => (isObject(spec) ? spec["rolloutRestart"] : undefined))
      .flatMap((written) => rolloutRestart.safeParse(written).data ?? [])
      .map(({ kind }) => kind),
  );

/** Checks the permissions of the operator. @param resources those that it has to sync */
export async function checkPermissions(
  place: OperatorPlace,
  resources: readonly KubeObject[],
  signal: AbortSignal,
): Promise<Check> {
  const { api, namespace, operatorNamespace, serviceAccount, flags } = place;
  const modes = { ...flags, restarted: restartedBy(resources) };
  const user = `system:serviceaccount:${operatorNamespace}:${serviceAccount}`;
  const groups = [
    "system:serviceaccounts",
    `system:serviceaccounts:${operatorNamespace}`,
    "system:authenticated",
  ];
  let required: AccessAttributes[];
  let allowed: boolean[];
  try {
    const isForCluster = await api.isAllowed({ user, groups }, clusterAccess, signal);
    required = requiredAccess(namespace, operatorNamespace, isForCluster, modes);
    allowed = await Promise.all(
      required.map((attributes) => api.isAllowed({ user, groups }, attributes, signal)),
    );
  } catch (error) {
    if (!isKubeError(error, "Forbidden")) throw error;
    return skipped("permissions", "no permission to create SubjectAccessReviews");
  }
  const denied = required.filter((_, index) => allowed[index] !== true).map(describe);
  if (denied.length === 0)
    return ok("permissions", `${user} has the ${required.length} permissions that it needs`);
  return failed(
    "permissions",
    `${user} may not: ${someOf(denied)}`,
    "apply deploy/chart/files/base/rbac.yaml, or give --target-watch and --auto-restart as the operator has them; --service-account and --operator-namespace name another ServiceAccount",
  );
}
