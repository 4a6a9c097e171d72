import { isSelected, type Labels } from "../../api/namespace-selector.ts";
import { fansOut } from "../../sync/sync-key.ts";
import { selectionOf } from "../../api/fan-out.ts";
import type { Problem } from "../manifests/manifest.ts";
import { type KnownNamespaces, NAME_LABEL } from "./check-resources.ts";
import type { Plan, PlannedResource } from "./planned-resource.ts";
import type { PlanResult } from "./print-plan.ts";
import { firstOf } from "../../lib/first-of.ts";

/**
 * A ClusterVaultSecret or ClusterVaultFile of a plan is one resource for each namespace that it
 * selects, as far as the namespaces are known.
 */

const idOf = ({ manifest }: PlannedResource): string =>
  `${manifest.kind.toLowerCase()}/${manifest.name}`;

/** Reports whether a resource has targets in several namespaces. */
export const isFannedOut = ({ resource }: PlannedResource): boolean => fansOut(resource.kind);

/** Returns the names in a spec. */
const namedIn = ({ manifest }: PlannedResource): readonly string[] =>
  selectionOf(manifest.spec)?.namespaces ?? [];

const withName = (name: string, labels: Labels): Labels => ({ ...labels, [NAME_LABEL]: name });

/** Returns the namespaces that a resource selects: those that it names, and known ones. */
function selectedBy(planned: PlannedResource, known: KnownNamespaces): readonly string[] {
  const { namespaceSelector } = selectionOf(planned.manifest.spec) ?? {};
  const found = [...known].flatMap(([name, labels]) =>
    namespaceSelector !== undefined && isSelected(namespaceSelector, withName(name, labels))
      ? [name]
      : [],
  );
  return [...new Set([...namedIn(planned), ...found])];
}

/**
 * Returns a plan with one resource for each namespace of the cluster-scoped ones. One that selects
 * no known namespace is a resource without a namespace: its sources can be checked.
 */
export function inNamespaces(plan: Plan, known: KnownNamespaces): Plan {
  const expanded = plan.fannedOut.flatMap((planned) => {
    const selected = selectedBy(planned, known);
    return (selected.length > 0 ? selected : [""]).map((namespace): PlannedResource => ({
      manifest: { ...planned.manifest, namespace },
      resource: { ...planned.resource, namespace },
    }));
  });
  return { ...plan, resources: [...plan.resources, ...expanded] };
}

/**
 * Returns what is not known about the namespaces of the cluster-scoped resources of a plan.
 * @param remedy what makes all namespaces known; `undefined`: all of a cluster are
 */
export function unknownNamespaces(
  { fannedOut }: Plan,
  known: KnownNamespaces,
  remedy: string | undefined,
): string[] {
  return fannedOut.flatMap((planned) => {
    const selection = selectionOf(planned.manifest.spec);
    const id = idOf(planned);
    if (remedy !== undefined)
      return selection?.namespaceSelector === undefined
        ? []
        : [
            `the namespaces that spec.namespaceSelector of ${id} selects are not all known, and so not all checked: ${remedy}`,
          ];
    const absent = namedIn(planned).filter((name) => !known.has(name));
    return absent.length === 0
      ? []
      : [
          `no namespace ${firstOf(absent)} in the files or in the cluster: ${id} has no target there until it is created`,
        ];
  });
}

/** The result of checking one resource, and the problem of one that may not read its sources. */
export interface CheckedResource extends Required<PlanResult> {
  readonly planned: PlannedResource;
  readonly denied?: Problem | undefined;
}

/**
 * Returns the results without the denials that the operator accepts: a connection need not allow
 * every namespace that labels select, but one of them.
 */
export function withoutAcceptedDenials(
  checked: readonly CheckedResource[],
): readonly CheckedResource[] {
  const allowed = new Set(
    checked.filter(({ denied }) => denied === undefined).map(({ planned }) => idOf(planned)),
  );
  const isAccepted = ({ planned, denied }: CheckedResource): boolean =>
    denied !== undefined &&
    isFannedOut(planned) &&
    allowed.has(idOf(planned)) &&
    !namedIn(planned).includes(planned.manifest.namespace);
  return checked.map((one) =>
    isAccepted(one)
      ? {
          ...one,
          keys: one.keys.map((key) => ({ ...key, waitsFor: "NamespaceNotAllowed" })),
          problems: one.problems.filter((problem) => problem !== one.denied),
        }
      : one,
  );
}
