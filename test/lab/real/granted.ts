import { parseAllDocuments } from "yaml";
import { z } from "zod";
import type { AuditEvent } from "../control-plane/audit.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";

const Rule = z.object({
  apiGroups: z.array(z.string()),
  resources: z.array(z.string()),
  resourceNames: z.array(z.string()).optional(),
  verbs: z.array(z.string()),
});
export type Rule = z.output<typeof Rule>;

export const Manifest = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  rules: z.array(Rule).optional(),
});
export type Manifest = z.output<typeof Manifest>;

/** Returns the objects of a kustomization, with another namespace of the operator. */
export async function manifestsOf(
  plane: ControlPlane,
  folder: string,
  operatorNamespace: string,
): Promise<Manifest[]> {
  const rendered = await plane.kubectlOutput(["kustomize", folder]);
  const text = rendered.replaceAll("vaultsync-system", operatorNamespace);
  return parseAllDocuments(text).map((document) => Manifest.parse(document.toJS()));
}

/** Returns every permission of the manifests, as `<verb> <group>/<resource>`. */
export function permissionsOf(manifests: readonly Manifest[]): Set<string> {
  return permissionsIn(manifests.flatMap((manifest) => manifest.rules ?? []));
}

/** Returns every permission of the rules, as `<verb> <group>/<resource>`. */
export function permissionsIn(rules: readonly Rule[]): Set<string> {
  return new Set(
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
      ),
    ),
  );
}

/** Returns the permission that a request requires, as `<verb> <group>/<resource>`. */
export function permissionOf({ verb, objectRef }: AuditEvent): string {
  const { apiGroup = "", resource = "", subresource } = objectRef ?? {};
  return `${verb} ${apiGroup}/${resource}${subresource === undefined ? "" : `/${subresource}`}`;
}
