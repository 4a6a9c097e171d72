import { parseAllDocuments } from "yaml";
import { z } from "zod";

const strings = z.record(z.string(), z.string());
const rendered = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: strings.optional(),
    annotations: strings.optional(),
  }),
});
type Rendered = z.output<typeof rendered>;

/** Names that the chart has in addition to the kustomizations; everything else has to be equal. */
const ofHelm = {
  labels: [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
  ],
  /**
   * The CRDs and what deploy/cluster has outlive the release, as they outlive a deletion of
   * deploy/base.
   */
  annotations: ["helm.sh/resource-policy"],
};

function without(names: Readonly<Record<string, string>> | undefined, omitted: readonly string[]) {
  const rest = Object.entries(names ?? {}).filter(([name]) => !omitted.includes(name));
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

/** Returns an object without `undefined`, as JSON shows it. */
const plain = (object: unknown): unknown => JSON.parse(JSON.stringify(object));

function withoutHelm(object: Rendered): unknown {
  const { metadata } = object;
  const labels = without(metadata.labels, ofHelm.labels);
  const annotations = without(metadata.annotations, ofHelm.annotations);
  return plain({ ...object, metadata: { ...metadata, labels, annotations } });
}

const keyOf = ({ kind, metadata: { namespace, name } }: Rendered): string =>
  [kind, ...(namespace === undefined ? [] : [namespace]), name].join("/");

function objectsOf(manifests: string, change: (object: Rendered) => unknown): Map<string, unknown> {
  const objects = new Map<string, unknown>();
  // The API server reads YAML 1.1, where 0444 is octal.
  for (const document of parseAllDocuments(manifests, { version: "1.1" })) {
    const json: unknown = document.toJS();
    if (json === null) continue;
    const object = rendered.parse(json);
    const key = keyOf(object);
    if (objects.has(key)) throw new Error(`${key} occurs twice`);
    objects.set(key, change(object));
  }
  return objects;
}

/** Returns the objects of a rendered chart by `Kind/namespace/name`, without what Helm adds. */
export const chartObjects = (manifests: string): Map<string, unknown> =>
  objectsOf(manifests, withoutHelm);

/** Returns the objects of `kubectl kustomize` by `Kind/namespace/name`. */
export const kustomizedObjects = (manifests: string): Map<string, unknown> =>
  objectsOf(manifests, plain);
