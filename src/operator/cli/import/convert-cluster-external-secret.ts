import { clusterVaultSecretKind } from "../../api/kinds.ts";
import { clusterVaultSecretSpec } from "../../api/vault-secret.ts";
import { apiVersionOf } from "../../kube/resource.ts";
import { defined } from "../../lib/defined.ts";
import { formatPath, type Manifest } from "../manifests/manifest.ts";
import { metadataOf, specOf } from "./convert-external-secret.ts";
import { FieldReader, type ReportField } from "./field-reader.ts";

/**
 * A ClusterVaultSecret that replaces a ClusterExternalSecret, as far as its fields can be carried
 * over.
 */
export interface ConvertedClusterSecret {
  readonly object: { readonly spec: object };
  /** Name of the existing Secret in each namespace. */
  readonly target: string;
  /** The namespaces that the spec names. */
  readonly namespaces: readonly string[];
  /** Labels select further namespaces. */
  readonly selectsByLabels: boolean;
}

/** Label that every namespace has, with its name. */
const NAME_LABEL = "kubernetes.io/metadata.name";

interface Expression {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
}

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Expression[];
}

function expressionOf(reader: FieldReader): Expression {
  const values = reader.textList("values");
  const expression = defined({
    key: reader.text("key"),
    operator: reader.text("operator"),
    values: values.length === 0 ? undefined : values,
  });
  reader.end();
  return expression;
}

/** Returns a selector. The empty one selects every namespace. */
function selectorOf(reader: FieldReader): Selector {
  const matchLabels = reader.texts("matchLabels");
  const matchExpressions = reader.list("matchExpressions").map(expressionOf);
  reader.end();
  if (matchExpressions.length === 0) return { matchLabels: matchLabels ?? {} };
  return defined({ matchLabels, matchExpressions });
}

/** Returns the names of the namespaces that a selector selects, if it selects by name only. */
function namesIn({
  matchLabels = {},
  matchExpressions = [],
}: Selector): readonly string[] | undefined {
  const { [NAME_LABEL]: name, ...others } = matchLabels;
  if (Object.keys(others).length > 0) return undefined;
  if (name !== undefined) return matchExpressions.length === 0 ? [name] : undefined;
  const [expression, second] = matchExpressions;
  const isByName = expression?.key === NAME_LABEL && expression.operator === "In";
  return isByName && second === undefined ? (expression.values ?? []) : undefined;
}

/** Returns the fields that select namespaces. Selectors in addition to the first one are reported. */
function selectionOf(spec: FieldReader): {
  readonly namespaces: readonly string[];
  readonly namespaceSelector: Selector | undefined;
} {
  const single = spec.object("namespaceSelector");
  const all = [...(single === undefined ? [] : [single]), ...spec.list("namespaceSelectors")];
  const selectors = all.map(selectorOf);
  const byName = selectors.map(namesIn);
  const isSingle = selectors.length === 1;
  const byLabels = selectors.filter((_, index) => isSingle || byName[index] === undefined);
  const distinct = new Map(byLabels.map((one) => [JSON.stringify(one), one]));
  if (distinct.size > 1)
    spec.problem(
      "namespaceSelectors",
      "only one selector can be carried over: write one for all, or a ClusterVaultSecret for each",
    );
  const named = isSingle ? [] : byName.flatMap((names) => names ?? []);
  const [namespaceSelector] = distinct.values();
  return {
    namespaces: [...new Set([...spec.textList("namespaces"), ...named])],
    namespaceSelector,
  };
}

/** Reports the metadata of the objects in the namespaces: there are none any more. */
function readMetadata(spec: FieldReader): void {
  const metadata = spec.object("externalSecretMetadata");
  for (const field of ["labels", "annotations"])
    if (Object.keys(metadata?.texts(field) ?? {}).length > 0)
      metadata?.problem(
        field,
        `has no counterpart, because no object is created next to the Secrets: set spec.target.${field} if these need them`,
      );
  metadata?.end();
}

/**
 * Converts one ClusterExternalSecret. What cannot be carried over is reported at its path in the
 * ClusterExternalSecret.
 */
export function convertClusterExternalSecret(
  manifest: Manifest,
  report: ReportField,
): ConvertedClusterSecret {
  const spec = new FieldReader(manifest.spec, ["spec"], report);
  const { namespaces, namespaceSelector } = selectionOf(spec);
  readMetadata(spec);
  // Namespaces are watched: nothing waits for an interval.
  spec.text("refreshTime");
  const created = spec.text("externalSecretName") ?? manifest.name;
  const inner = spec.object("externalSecretSpec");
  if (inner === undefined) spec.problem("externalSecretSpec", "is missing");
  const { connectionRef, target, ...content } = specOf(
    inner ?? new FieldReader({}, ["spec", "externalSecretSpec"], report),
  );
  spec.end();
  const name = target.name ?? created;
  const converted = defined({
    connectionRef,
    namespaces: namespaces.length === 0 ? undefined : namespaces,
    namespaceSelector,
    ...content,
    target: { ...(name !== manifest.name && { name }), ...target },
  });
  const parsed = clusterVaultSecretSpec.safeParse(converted);
  for (const { path, message } of parsed.error?.issues ?? [])
    report(
      ["spec"],
      `the ClusterVaultSecret is not complete: ${formatPath(["spec", ...path])}: ${message}`,
    );
  const object = {
    apiVersion: apiVersionOf(clusterVaultSecretKind),
    kind: clusterVaultSecretKind.kind,
    metadata: metadataOf({ ...manifest, metadata: { ...manifest.metadata, namespace: undefined } }),
    spec: converted,
  };
  const selectsByLabels = namespaceSelector !== undefined;
  return { object, target: name, namespaces, selectsByLabels };
}
