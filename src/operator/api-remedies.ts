import type { ApiRemedies } from "./kube/explain-problem.ts";

/** Names of our own resources. */
const OWN = /^(cluster)?vault/u;

/**
 * Returns what an administrator applies when the API server lacks a kind or denies a request.
 * @param namespaced the operator has Roles in some namespaces, and no ClusterRole
 */
export const apiRemedies = (namespaced: boolean): ApiRemedies => ({
  install: (resources) =>
    resources.some((one) => OWN.test(one))
      ? 'install the CRDs with "kubectl apply -k crds"'
      : "install its CRD",
  grant: `Apply ${namespaced ? 'deploy/namespaced with "kubectl apply -k deploy/namespaced"' : "deploy/chart/files/base/rbac.yaml"}, and run with its ServiceAccount`,
  grantIn: (namespace) => `"kubectl apply -n ${namespace} -k deploy/namespaced/tenant"`,
});
