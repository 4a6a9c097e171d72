import type { Lanes } from "./lanes.ts";

const GROUP = "rbac.authorization.k8s.io";

/**
 * Creates a ServiceAccount in the namespace of the world, with the permissions of the operator there
 * and for its Leases.
 */
export async function createReplicaAccount(world: Lanes, name: string): Promise<void> {
  const { plane, namespace } = world;
  const post = async (path: string, object: object): Promise<void> => {
    const { status, body } = await plane.request("POST", path, object);
    if (status !== 201 && status !== 409) throw new Error(`POST ${path}: ${status} ${body}`);
  };
  const rbac = `/apis/${GROUP}/v1/namespaces/${namespace}`;
  const subjects = [{ kind: "ServiceAccount", name, namespace }];
  await post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  const verbs = ["create", "get", "list", "update", "delete"];
  const rules = [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs }];
  await post(`${rbac}/roles`, { metadata: { name: "leases" }, rules });
  for (const [kind, role] of [
    ["ClusterRole", "vaultsync"],
    ["Role", "leases"],
  ]) {
    const roleRef = { apiGroup: GROUP, kind, name: role };
    await post(`${rbac}/rolebindings`, {
      metadata: { name: `${name}-${role}` },
      subjects,
      roleRef,
    });
  }
}
