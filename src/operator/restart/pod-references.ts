import { z } from "zod";

/** Parses an object with the name of a Secret or ConfigMap to `<kind>/<name>`. */
const secret = z
  .object({ name: z.string() })
  .transform(({ name }) => `Secret/${name}`)
  .optional()
  .catch(undefined);
const configMap = z
  .object({ name: z.string() })
  .transform(({ name }) => `ConfigMap/${name}`)
  .optional()
  .catch(undefined);

const container = z.object({
  env: z
    .array(
      z.object({
        valueFrom: z.object({ secretKeyRef: secret, configMapKeyRef: configMap }).catch({}),
      }),
    )
    .catch([]),
  envFrom: z.array(z.object({ secretRef: secret, configMapRef: configMap })).catch([]),
});

const volume = z.object({
  secret: z
    .object({ secretName: z.string() })
    .transform(({ secretName }) => `Secret/${secretName}`)
    .optional()
    .catch(undefined),
  configMap,
  projected: z
    .object({ sources: z.array(z.object({ secret, configMap })).catch([]) })
    .catch({ sources: [] }),
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
  if (pod === undefined) return new Set();
  const containers = [...pod.containers, ...pod.initContainers];
  const sources: object[] = [
    ...containers.flatMap(({ env, envFrom }) => [
      ...env.map(({ valueFrom }) => valueFrom),
      ...envFrom,
    ]),
    ...pod.volumes.flatMap(({ projected, ...direct }) => [direct, ...projected.sources]),
  ];
  return new Set(
    sources
      .flatMap((source): unknown[] => Object.values(source))
      .filter((reference) => typeof reference === "string"),
  );
}
