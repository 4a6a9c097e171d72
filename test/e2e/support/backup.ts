import { z } from "zod";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { type World } from "../../lab/real/world.ts";
import { collection } from "../../lab/real/resources.ts";

const stored = z.looseObject({
  apiVersion: z.string().optional(),
  metadata: z.looseObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
    finalizers: z.array(z.string()).optional(),
    ownerReferences: z.array(z.looseObject({})).optional(),
  }),
});
type Stored = z.output<typeof stored>;

/** The order in which Velero restores: custom resources come last. */
const kinds = ["Secret", "ConfigMap", "VaultConnection", "VaultFile", "VaultPush", "VaultSecret"];

/** Returns all Secrets, ConfigMaps and custom resources of a namespace. */
export async function backupOf({ plane, namespace }: World): Promise<Stored[]> {
  const objects: Stored[] = [];
  for (const kind of kinds) {
    const { body } = await plane.request("GET", collection(kind, namespace));
    const list = z
      .object({ apiVersion: z.string(), items: z.array(stored) })
      .parse(JSON.parse(body));
    objects.push(...list.items.map((item) => ({ ...item, apiVersion: list.apiVersion, kind })));
  }
  return objects.filter(({ metadata }) => metadata.name !== "kube-root-ca.crt");
}

/**
 * Creates the objects of a backup in another namespace, in its order, as Velero does: of the
 * metadata only the name, labels, annotations and finalizers are restored, and no status.
 * `withOwners` restores the owner references too, as programs do that copy whole objects.
 */
export async function restore(
  plane: ControlPlane,
  namespace: string,
  backup: readonly Stored[],
  { withOwners = false } = {},
): Promise<void> {
  const objects = backup.map(({ status: _status, metadata, ...rest }) => {
    const { name, labels, annotations, finalizers, ownerReferences } = metadata;
    return {
      ...rest,
      metadata: { name, labels, annotations, finalizers, ...(withOwners && { ownerReferences }) },
    };
  });
  const input = objects.map((object) => JSON.stringify(object)).join("\n---\n");
  const { code, stderr } = await plane.kubectl(["create", "-f", "-"], { namespace, input });
  if (code !== 0) throw new Error(`kubectl create: ${stderr}`);
}
