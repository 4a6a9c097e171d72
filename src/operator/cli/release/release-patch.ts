import { API_GROUP, syncedKinds } from "../../api/kinds.ts";
import {
  MANAGED_BY,
  MANAGED_BY_LABEL,
  MERGE_DOMAIN,
  MERGED_LABEL,
  OWNER_ANNOTATION,
  PUSH_FINALIZER,
} from "../../api/names.ts";
import { TARGET_ANNOTATIONS } from "../../api/target-annotations.ts";
import type { MergePatch } from "../../kube/client/kube-api.ts";
import { groupOf, type ObjectMeta, type OwnerReference } from "../../kube/resource.ts";

/**
 * The resources that an object belongs to, and the patch that removes all traces of the operator.
 */
export interface Release {
  /** The resources that the object belongs to, as `KIND/NAME`. */
  readonly owners: readonly string[];
  readonly patch: MergePatch;
}

const KINDS: readonly string[] = Object.keys(syncedKinds);

const isOurs = ({ apiVersion, kind }: OwnerReference): boolean =>
  groupOf(apiVersion) === API_GROUP && KINDS.includes(kind);
const isMark = (name: string): boolean => TARGET_ANNOTATIONS.includes(name);
const isClaim = (name: string): boolean => isMark(name) || name.startsWith(`${MERGE_DOMAIN}/`);

/**
 * Returns how to make a Secret or ConfigMap an ordinary object of its users, in one write: without
 * an owner that garbage collection follows, and without the marks by which an operator would
 * recognize it as its own. Its content stays, and so do the labels and annotations that its
 * resource requested. `undefined` if it has nothing of the operator.
 */
export function releaseOfTarget({
  labels = {},
  annotations = {},
  ownerReferences = [],
}: ObjectMeta): Release | undefined {
  const ours = ownerReferences.filter(isOurs);
  const claims = Object.keys(annotations).filter(isClaim);
  if (ours.length === 0 && claims.length === 0) return undefined;
  const merged = claims
    .filter((name) => name.startsWith(`${MERGE_DOMAIN}/`))
    .map((name) => name.slice(MERGE_DOMAIN.length + 1));
  const owner = annotations[OWNER_ANNOTATION];
  const owners = new Set([
    ...ours.map(({ kind, name }) => `${kind}/${name}`),
    ...(owner === undefined ? [] : [owner]),
    ...merged,
  ]);
  const marks = [
    ...(labels[MANAGED_BY_LABEL] === MANAGED_BY ? [MANAGED_BY_LABEL] : []),
    ...(labels[MERGED_LABEL] === undefined ? [] : [MERGED_LABEL]),
  ];
  const metadata = {
    ...(ours.length > 0 && {
      ownerReferences: ownerReferences.filter((reference) => !isOurs(reference)),
    }),
    ...(claims.length > 0 && {
      annotations: Object.fromEntries(claims.map((name) => [name, null])),
    }),
    ...(marks.length > 0 && { labels: Object.fromEntries(marks.map((name) => [name, null])) }),
  };
  return { owners: [...owners], patch: { metadata } };
}

/**
 * Returns how to make a VaultPush deletable without an operator: without the finalizer that waits
 * for the deletion of its entries. The entries stay in the vault. `undefined` without that
 * finalizer.
 */
export function releaseOfPush({ finalizers = [] }: ObjectMeta): Release | undefined {
  if (!finalizers.includes(PUSH_FINALIZER)) return undefined;
  return {
    owners: [],
    patch: {
      metadata: { finalizers: finalizers.filter((finalizer) => finalizer !== PUSH_FINALIZER) },
    },
  };
}
