import type { WorkloadKind } from "../api/rollout-restart.ts";
import type { AccessAttributes } from "../kube/client/kube-api.ts";

/** Permissions on one resource. */
interface Permission {
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /**
   * Required in the operator's own namespace, wherever it works, or for the cluster if it works in
   * all namespaces.
   */
  readonly where: "own" | "everywhere" | "cluster";
}

/** Flags of the operator that make permissions unnecessary. */
export interface OperatorFlags {
  /** `off`: Secrets are neither listed nor watched. */
  readonly targetWatch: "on" | "off";
  /** `off`: only workloads that resources name are restarted. */
  readonly autoRestart: "on" | "off";
}

/** The flags of an operator, and the kinds of workloads that resources name. */
export interface OperatorModes extends OperatorFlags {
  readonly restarted: ReadonlySet<WorkloadKind>;
}

const CUSTOM = ["vaultconnections", "vaultsecrets", "vaultfiles", "vaultpushes"];
/** Kinds with targets in several namespaces. */
const FANNED_OUT = ["clustervaultsecrets", "clustervaultfiles"];
const grant = (
  group: string,
  resource: string,
  verbs: string,
  where: Permission["where"] = "everywhere",
): Permission => ({
  group,
  resource,
  verbs: verbs.split(" "),
  where,
});

/** The permissions of the operator. A test compares them with deploy/chart/files/base/rbac.yaml. */
const permissions: readonly Permission[] = [
  ...CUSTOM.map((resource) => grant("vaultsync.dev", resource, "list watch")),
  grant("vaultsync.dev", "vaultconnections", "patch"),
  grant("vaultsync.dev", "vaultpushes", "patch"),
  ...CUSTOM.map((resource) => grant("vaultsync.dev", `${resource}/status`, "update")),
  grant("vaultsync.dev", "vaultsecrets/finalizers", "update"),
  grant("vaultsync.dev", "vaultfiles/finalizers", "update"),
  ...["secrets", "configmaps"].map((resource) =>
    grant("", resource, "get list watch create update patch delete"),
  ),
  grant("events.k8s.io", "events", "create patch"),
  ...["deployments", "statefulsets", "daemonsets"].map((resource) =>
    grant("apps", resource, "get list watch patch"),
  ),
  grant("argoproj.io", "rollouts", "get list watch patch"),
  grant("", "pods", "list"),
  grant("coordination.k8s.io", "leases", "create get list update delete", "own"),
  grant("vaultsync.dev", "clustervaultconnections", "list watch patch", "cluster"),
  ...FANNED_OUT.map((resource) => grant("vaultsync.dev", resource, "list watch", "cluster")),
  ...["clustervaultconnections", ...FANNED_OUT].map((resource) =>
    grant("vaultsync.dev", `${resource}/status`, "update", "cluster"),
  ),
  ...FANNED_OUT.map((resource) =>
    grant("vaultsync.dev", `${resource}/finalizers`, "update", "cluster"),
  ),
  grant("", "namespaces", "list watch", "cluster"),
];

/** Reports whether an operator with these flags works without a permission. */
function isOptional(
  { group, resource }: Permission,
  verb: string,
  { targetWatch, autoRestart, restarted }: OperatorModes,
): boolean {
  if (resource === "secrets") return targetWatch === "off" && ["list", "watch"].includes(verb);
  const isOfRestarts = group === "apps" || group === "argoproj.io" || resource === "pods";
  const isNamed = [...restarted].some((kind) => resource === `${kind.toLowerCase()}s`);
  return autoRestart === "off" && isOfRestarts && !isNamed;
}

/** The permission that only an operator for all namespaces has. */
export const clusterAccess: AccessAttributes = {
  group: "vaultsync.dev",
  resource: "vaultsecrets",
  verb: "list",
  namespace: "",
};

/**
 * Returns the permissions that the operator needs in a namespace, in the operator's namespace and,
 * if it works in all namespaces, in the cluster: `namespace` is then empty.
 */
export function requiredAccess(
  namespace: string,
  ownNamespace: string,
  isForCluster: boolean,
  modes: OperatorModes,
): AccessAttributes[] {
  const placeOf = { own: ownNamespace, everywhere: namespace, cluster: "" };
  const required = permissions.filter(({ where }) => isForCluster || where !== "cluster");
  return required.flatMap((permission) => {
    const { group, resource: path, where } = permission;
    const [resource = "", subresource] = path.split("/");
    const verbs = permission.verbs.filter((verb) => !isOptional(permission, verb, modes));
    return verbs.map((verb) => ({
      group,
      resource,
      verb,
      namespace: placeOf[where],
      ...(subresource !== undefined && { subresource }),
    }));
  });
}
