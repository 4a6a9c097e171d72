import { apiRequest } from "../../lab/control-plane/api-request.ts";
import type { AuditEvent } from "../../lab/control-plane/audit.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { permissionOf, permissionsIn, type Rule } from "../../lab/real/granted.ts";

const RBAC = "rbac.authorization.k8s.io";
const methods: Readonly<Record<string, string>> = {
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
};

/**
 * A request of the operator, and the words of the API server about it, when a user without this
 * permission repeats it.
 */
interface Repetition {
  readonly permission: string;
  readonly status: number;
  readonly message: string;
}

/** Returns the rules without one permission: each rule then has one resource. */
export function rulesWithout(rules: readonly Rule[], permission: string): Rule[] {
  const single = rules.flatMap(({ apiGroups, resources, ...rule }) =>
    apiGroups.flatMap((group) =>
      resources.map((resource) => ({ ...rule, apiGroups: [group], resources: [resource] })),
    ),
  );
  const left = single.map((rule) => ({
    ...rule,
    verbs: rule.verbs.filter(
      (verb) => !permissionsIn([{ ...rule, verbs: [verb] }]).has(permission),
    ),
  }));
  return left.filter(({ verbs }) => verbs.length > 0);
}

/**
 * Repeats a request of the operator for each permission of the rules, as a user who has all of them
 * but this one. The request has no body: authorization comes before the body is read.
 * @param namespace namespace of the rules; `undefined` for rules of the cluster
 * @throws Error for a permission that no request used
 */
export function repeatWithout(
  plane: ControlPlane,
  rules: readonly Rule[],
  events: readonly AuditEvent[],
  namespace?: string,
): Promise<Repetition[]> {
  const permissions = [...permissionsIn(rules)].filter(
    (permission) => !permission.endsWith("/finalizers"),
  );
  return Promise.all(
    permissions.map(async (permission, index) => {
      const request = events.find(
        (event) => permissionOf(event) === permission && event.objectRef?.namespace === namespace,
      );
      if (request === undefined) throw new Error(`no request of the operator needs ${permission}`);
      const user = `without-${index}-${namespace ?? "cluster"}`;
      await using _ = await grant(plane, user, rulesWithout(rules, permission), namespace);
      const { access } = plane;
      const { status, body } = await apiRequest(access, {
        method: methods[request.verb] ?? "GET",
        path: request.requestURI,
        headers: { "impersonate-user": user },
      });
      return { permission, status, message: body };
    }),
  );
}

/** Gives rules to a user until the result is disposed of, and waits until they are effective. */
async function grant(
  plane: ControlPlane,
  user: string,
  rules: readonly Rule[],
  namespace?: string,
): Promise<AsyncDisposable> {
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const path = `/apis/${RBAC}/v1/${namespace === undefined ? "" : `namespaces/${namespace}/`}${kind.toLowerCase()}`;
  const metadata = { name: user };
  const roleRef = { apiGroup: RBAC, kind, name: user };
  await plane.request("POST", `${path}s`, { metadata, rules });
  await plane.request("POST", `${path}bindings`, {
    metadata,
    roleRef,
    subjects: [{ apiGroup: RBAC, kind: "User", name: user }],
  });
  const [rule] = rules;
  const [resource = "", subresource] = rule?.resources[0]?.split("/") ?? [];
  const attributes = {
    verb: rule?.verbs[0],
    group: rule?.apiGroups[0],
    resource,
    subresource,
    namespace,
    name: rule?.resourceNames?.[0],
  };
  const review = { spec: { user, resourceAttributes: attributes } };
  const reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  await waitUntil(`${user} has the other permissions`, async () =>
    (await plane.request("POST", reviews, review)).body.includes('"allowed":true'),
  );
  return {
    async [Symbol.asyncDispose]() {
      await plane.request("DELETE", `${path}bindings/${user}`);
      await plane.request("DELETE", `${path}s/${user}`);
    },
  };
}

/** Returns what the API server says to a user who lacks a permission. */
export function denialOf(permission: string): string {
  const [verb = "", path = ""] = permission.split(" ");
  const group = path.slice(0, path.indexOf("/"));
  return `cannot ${verb} resource \\"${path.slice(group.length + 1)}\\" in API group \\"${group}\\"`;
}
