import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";

/** Kinds that outlive an installation: they protect targets, or have credentials. */
const KEPT_KINDS = new Set([
  "CustomResourceDefinition",
  "Namespace",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
]);

/** The roles of users stay: docs/gitops.md. */
const USER_ROLES = "deploy/chart/files/cluster/user-roles.yaml";

const root = join(import.meta.dirname, "..", "..");
const manifest = z.object({
  kind: z.string(),
  metadata: z.object({
    name: z.string(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});

/**
 * Returns the objects of the manifests that are installed; templates of charts and patches of
 * kustomizations are none.
 */
async function objects() {
  const found: { name: string; annotations: Record<string, string> }[] = [];
  for await (const path of glob("deploy/**/*.yaml", { cwd: root })) {
    if (/\/(templates|identity)\/|values/u.test(path)) continue;
    for (const document of parseAllDocuments(await readFile(join(root, path), "utf8"))) {
      const { success, data } = manifest.safeParse(document.toJS());
      if (!success || !(KEPT_KINDS.has(data.kind) || path === USER_ROLES)) continue;
      found.push({
        name: `${path}: ${data.kind}/${data.metadata.name}`,
        annotations: data.metadata.annotations ?? {},
      });
    }
  }
  return found;
}

test("Flux and Argo CD neither prune nor delete what protects the targets", async () => {
  const found = await objects();
  // Seven CRDs, six policies with their bindings, two namespaces and five roles of users.
  expect(found).toHaveLength(26);
  const unprotected = found.filter(
    ({ annotations }) =>
      annotations["kustomize.toolkit.fluxcd.io/prune"] !== "disabled" ||
      annotations["argocd.argoproj.io/sync-options"] !== "Prune=false,Delete=false",
  );
  expect(unprotected.map(({ name }) => name)).toEqual([]);
});
