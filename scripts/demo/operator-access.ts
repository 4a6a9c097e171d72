import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import type { ControlPlane } from "../../test/control-plane/control-plane.ts";
import { kubectl } from "./kubectl.ts";

const base = join(import.meta.dirname, "..", "..", "deploy", "base");
/** The demo applies crds/ itself, and no node is there to run the Deployment: the operator is a process beside the cluster. */
const leftOut = ["CustomResourceDefinition", "Deployment"];

const Document = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});

/** Applies the operator's namespace, ServiceAccount and rights of deploy/base. Answers who the operator is. */
export async function applyOperatorAccess(controlPlane: ControlPlane): Promise<{ serviceAccount: string; namespace: string }> {
  const built = await kubectl(controlPlane, ["kustomize", base]);
  const documents = parseAllDocuments(built).map((document) => Document.parse(document.toJS()));
  const items = documents.filter(({ kind }) => !leftOut.includes(kind));
  const account = items.find(({ kind }) => kind === "ServiceAccount")?.metadata;
  if (account?.namespace === undefined) throw new Error("deploy/base names no ServiceAccount with its namespace");
  await kubectl(controlPlane, ["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  return { serviceAccount: account.name, namespace: account.namespace };
}
