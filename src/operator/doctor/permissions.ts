import type { AccessAttributes } from "../kube/client/access-review.ts";

/** Permissions on one resource. */
interface Permission {
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /** Required in the operator's own namespace, or wherever it works. */
  readonly where: "own" | "everywhere";
}

const CUSTOM = ["vaultconnections", "vaultsecrets", "vaultfiles"];
const grant = (group: string, resource: string, verbs: string, where: Permission["where"] = "everywhere"): Permission => ({
  group,
  resource,
  verbs: verbs.split(" "),
  where,
});

/** The permissions of the operator; those of deploy/base/rbac.yaml, which a test compares with them. */
const permissions: readonly Permission[] = [
  ...CUSTOM.map((resource) => grant("vaultsync.dev", resource, "list watch")),
  grant("vaultsync.dev", "vaultconnections", "patch"),
  ...CUSTOM.map((resource) => grant("vaultsync.dev", `${resource}/status`, "update")),
  grant("vaultsync.dev", "vaultsecrets/finalizers", "update"),
  grant("vaultsync.dev", "vaultfiles/finalizers", "update"),
  ...["secrets", "configmaps"].map((resource) => grant("", resource, "get list watch create update patch delete")),
  grant("events.k8s.io", "events", "create patch"),
  grant("coordination.k8s.io", "leases", "create get list update delete", "own"),
];

/** Returns what the operator must be allowed to do in a namespace, or in its own one. */
export function requiredAccess(namespace: string, ownNamespace: string): AccessAttributes[] {
  return permissions.flatMap(({ group, resource: path, verbs, where }) => {
    const [resource = "", subresource] = path.split("/");
    return verbs.map((verb) => ({
      group,
      resource,
      verb,
      namespace: where === "own" ? ownNamespace : namespace,
      ...(subresource !== undefined && { subresource }),
    }));
  });
}
