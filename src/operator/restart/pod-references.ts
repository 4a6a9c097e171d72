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

const volumeMount = z.object({
  name: z.string().catch(""),
  subPath: z.string().catch(""),
  subPathExpr: z.string().catch(""),
});

const container = z.object({
  name: z.string().catch(""),
  env: z
    .array(
      z.object({
        valueFrom: z.object({ secretKeyRef: secret, configMapKeyRef: configMap }).catch({}),
      }),
    )
    .catch([]),
  envFrom: z.array(z.object({ secretRef: secret, configMapRef: configMap })).catch([]),
  volumeMounts: z.array(volumeMount).catch([]),
});

const volume = z.object({
  name: z.string().catch(""),
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

/** The part of the spec of a pod, or of a pod template, that refers to Secrets and ConfigMaps. */
export const podSpec = z.object({
  containers: z.array(container).catch([]),
  initContainers: z.array(container).catch([]),
  ephemeralContainers: z.array(container).catch([]),
  volumes: z.array(volume).catch([]),
  imagePullSecrets: z.array(z.object({ name: z.string() })).catch([]),
});
export type PodSpec = z.output<typeof podSpec>;
type Container = z.output<typeof container>;

const workload = z.object({ spec: z.object({ template: z.object({ spec: podSpec }) }) });

/** Returns the strings among the fields of these objects: `<kind>/<name>` of what they refer to. */
const namesIn = (sources: readonly object[]): string[] =>
  sources
    .flatMap((source): unknown[] => Object.values(source))
    .filter((reference) => typeof reference === "string");

/** Returns what the environment of a container is made of. */
export const environmentOf = ({ env, envFrom }: Container): string[] =>
  namesIn([...env.map(({ valueFrom }) => valueFrom), ...envFrom]);

/** Returns what a volume contains. */
const contentsOf = ({ secret: one, configMap: other, projected }: z.output<typeof volume>) =>
  namesIn([{ one, other }, ...projected.sources]);

/** Returns what the volumes of a pod contain. */
export const volumesOf = ({ volumes }: PodSpec): string[] => volumes.flatMap(contentsOf);

/** Returns what a container mounts by `subPath`: it keeps the files of its start. */
export function subPathsOf({ volumeMounts }: Container, { volumes }: PodSpec): string[] {
  const mounted = new Set(
    volumeMounts
      .filter(({ subPath, subPathExpr }) => subPath !== "" || subPathExpr !== "")
      .map(({ name }) => name),
  );
  return volumes.filter(({ name }) => mounted.has(name)).flatMap(contentsOf);
}

/** Returns the Secrets with which a pod pulls its images. */
export const pullSecretsOf = ({ imagePullSecrets }: PodSpec): string[] =>
  imagePullSecrets.map(({ name }) => `Secret/${name}`);

/** Returns the containers of a pod, of all kinds. */
export const containersOf = (pod: PodSpec): Container[] => [
  ...pod.containers,
  ...pod.initContainers,
  ...pod.ephemeralContainers,
];

/** Returns all that the pods of a workload use, Secrets of image pulls included. */
export function templateUses(object: unknown): ReadonlySet<string> {
  const pod = workload.safeParse(object).data?.spec.template.spec;
  return new Set([...podReferences(object), ...(pod === undefined ? [] : pullSecretsOf(pod))]);
}

/**
 * Returns the Secrets and ConfigMaps, as `<kind>/<name>`, whose content the pods of a workload
 * read: by env, envFrom, volumes and projected volumes, init containers included. Secrets of image
 * pulls are not included: running pods do not use them.
 */
export function podReferences(object: unknown): ReadonlySet<string> {
  const pod = workload.safeParse(object).data?.spec.template.spec;
  if (pod === undefined) return new Set();
  return new Set([...containersOf(pod).flatMap(environmentOf), ...volumesOf(pod)]);
}
