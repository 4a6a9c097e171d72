import { z } from "zod";

const named = z.object({ name: z.string() }).optional().catch(undefined);

const container = z.object({
  env: z
    .array(
      z.object({
        valueFrom: z
          .object({ secretKeyRef: named, configMapKeyRef: named })
          .optional()
          .catch(undefined),
      }),
    )
    .catch([]),
  envFrom: z.array(z.object({ secretRef: named, configMapRef: named })).catch([]),
});

const volume = z.object({
  secret: z.object({ secretName: z.string() }).optional().catch(undefined),
  configMap: named,
  projected: z
    .object({ sources: z.array(z.object({ secret: named, configMap: named })).catch([]) })
    .optional()
    .catch(undefined),
});

const workload = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.array(container).catch([]),
        initContainers: z.array(container).catch([]),
        volumes: z.array(volume).catch([]),
      }),
    }),
  }),
});

/**
 * Returns the Secrets and ConfigMaps, as `<kind>/<name>`, whose content the pods of a workload
 * read: by env, envFrom, volumes and projected volumes, init containers included. Secrets of image
 * pulls are not included: running pods do not use them.
 */
export function podReferences(object: unknown): ReadonlySet<string> {
  const pod = workload.safeParse(object).data?.spec.template.spec;
  const references = new Set<string>();
  if (pod === undefined) return references;
  const add = (kind: "Secret" | "ConfigMap", name: string | undefined): void => {
    if (name !== undefined) references.add(`${kind}/${name}`);
  };
  for (const { env, envFrom } of [...pod.containers, ...pod.initContainers]) {
    for (const { valueFrom } of env) {
      add("Secret", valueFrom?.secretKeyRef?.name);
      add("ConfigMap", valueFrom?.configMapKeyRef?.name);
    }
    for (const { secretRef, configMapRef } of envFrom) {
      add("Secret", secretRef?.name);
      add("ConfigMap", configMapRef?.name);
    }
  }
  for (const { secret, configMap, projected } of pod.volumes) {
    add("Secret", secret?.secretName);
    add("ConfigMap", configMap?.name);
    for (const source of projected?.sources ?? []) {
      add("Secret", source.secret?.name);
      add("ConfigMap", source.configMap?.name);
    }
  }
  return references;
}
