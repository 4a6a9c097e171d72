import { z } from "zod";
import { METADATA_ANNOTATION } from "../api/names.ts";
import type { TargetPolicy } from "./sync-resource.ts";

/**
 * Names of the labels and annotations of a target that its resource requested when the target was
 * written.
 */
export interface ManagedNames {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

type Metadata = Readonly<Record<string, string>>;

const names = z.array(z.string()).default([]);
const annotation = z.object({ labels: names, annotations: names });

/** Returns the names in the annotations of a target; none if they are malformed. */
export function managedNames(annotations: Metadata | undefined): ManagedNames {
  try {
    return annotation.parse(JSON.parse(annotations?.[METADATA_ANNOTATION] ?? "{}"));
  } catch {
    return { labels: [], annotations: [] };
  }
}

/** Formats the names that a policy requests for the annotation; `undefined` if there are none. */
export function formatManagedNames({ labels, annotations }: TargetPolicy): string | undefined {
  const requested = {
    labels: Object.keys(labels).sort(),
    annotations: Object.keys(annotations).sort(),
  };
  return requested.labels.length + requested.annotations.length === 0
    ? undefined
    : JSON.stringify(requested);
}

/**
 * Reports whether a target has the requested labels and annotations, and none that was requested
 * only earlier.
 */
export function hasManagedMetadata(
  policy: TargetPolicy,
  { labels, annotations }: { readonly labels: Metadata; readonly annotations: Metadata },
): boolean {
  const isSame = (requested: Metadata, actual: Metadata): boolean =>
    Object.entries(requested).every(([name, value]) => actual[name] === value);
  const isRecorded = annotations[METADATA_ANNOTATION] === formatManagedNames(policy);
  return isRecorded && isSame(policy.labels, labels) && isSame(policy.annotations, annotations);
}
