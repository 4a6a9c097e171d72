import { MANAGED_BY_LABEL } from "../../api/names.ts";
import { syncedKinds } from "../../api/kinds.ts";
import { TARGET_ANNOTATIONS } from "../../api/target-annotations.ts";
import type { KubeApi, MergePatch } from "../../kube/client/kube-api.ts";
import { ifFound, isKubeError, type KubeError } from "../../kube/kube-error.ts";
import {
  groupOf,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
} from "../../kube/resource.ts";
import { bytesDigests, keysDigest, readContent } from "../../sync/content.ts";
import { isComplete, outweighsOthers } from "../../sync/decide.ts";
import { areOverdue, goneClaims, isOwn } from "../../sync/gone-claims.ts";
import { isOfOtherSpec } from "../../sync/item-form.ts";
import type { Report } from "../../sync/report.ts";
import { isDerived, isMerged, type SyncResource } from "../../sync/sync-resource.ts";
import { showsTarget } from "../../sync/sync-status.ts";
import {
  type Claims,
  type TargetMetadata,
  type TargetState,
  targetState,
} from "../../sync/target.ts";
import { renderPatch } from "./render-target.ts";
import { isOfItem, isOfName } from "./bytes-of-item.ts";
import { isFixed } from "./write-failure.ts";
import { DONE, type Failure } from "../outcome/outcome.ts";
import type { Assembling, Planned } from "./stages.ts";
import { targetDescriptor } from "./target-metadata.ts";
import type { FormerTarget, TargetRecords } from "./target-records.ts";
import type { Versioned } from "../outcome/own-writes.ts";

type OwnedState = Extract<TargetState, { readonly state: "owned" }>;

interface Targets {
  readonly api: KubeApi;
  readonly targets: TargetRecords;
}

type KeyedTargets = Targets & Pick<Assembling, "contentKey">;

/** Returns the metadata that removes the owner reference which garbage collection follows. */
function withoutOwner(
  resource: SyncResource,
  { ownerReferences = [] }: ObjectMeta,
): { readonly ownerReferences?: readonly OwnerReference[] } {
  const { group, kind } = syncedKinds[resource.kind];
  const kept = ownerReferences.filter(
    (owner) =>
      owner.uid !== resource.uid &&
      !(groupOf(owner.apiVersion) === group && owner.kind === kind && owner.name === resource.name),
  );
  return kept.length < ownerReferences.length ? { ownerReferences: kept } : {};
}

/**
 * Returns the patch that releases an object from a resource: it removes the owner reference, and
 * the label and the annotations by which the operator recognizes the object. Everything else stays.
 */
export function releasePatch(resource: SyncResource, metadata: ObjectMeta): MergePatch {
  return {
    metadata: {
      ...withoutOwner(resource, metadata),
      labels: { [MANAGED_BY_LABEL]: null },
      annotations: Object.fromEntries(TARGET_ANNOTATIONS.map((name) => [name, null])),
    },
  };
}

/**
 * Deletes exactly this state of a target. @throws KubeError, `Conflict` when the target has changed
 * since
 */
export async function deleteTarget(
  { api, targets }: Targets,
  resource: SyncResource,
  { uid, resourceVersion }: Versioned,
  signal: AbortSignal,
): Promise<void> {
  const { kind, name } = resource.target;
  const ref = { namespace: resource.namespace, name, uid, resourceVersion };
  await ifFound(api.delete(targetDescriptor[kind], ref, signal));
  targets.recordDelete(resource, uid);
}

/**
 * Makes this target an object of its users. @throws KubeError, `Conflict` when another object has
 * its name
 */
async function releaseTarget(
  { api, targets }: Targets,
  resource: SyncResource,
  uid: string,
  signal: AbortSignal,
): Promise<void> {
  const { kind, name } = resource.target;
  const ref = { namespace: resource.namespace, name };
  const { metadata } = await api.getMetadata(targetDescriptor[kind], ref, signal);
  const state = { ...ref, uid, resourceVersion: metadata.resourceVersion ?? "" };
  await api.patch(targetDescriptor[kind], state, releasePatch(resource, metadata), signal);
  targets.recordDelete(resource, uid);
}

/**
 * Removes the owner reference of a target. Its content and its marks stay. Does nothing if it has
 * none. @throws KubeError, `Conflict` when another object has its name
 */
export async function dropOwner(
  { api }: Targets,
  resource: SyncResource,
  { uid, owners }: TargetMetadata,
  signal: AbortSignal,
): Promise<void> {
  if (owners.every((owner) => owner.uid !== resource.uid)) return;
  const { kind, name } = resource.target;
  const ref = { namespace: resource.namespace, name };
  const { metadata } = await api.getMetadata(targetDescriptor[kind], ref, signal);
  const state = { ...ref, uid, resourceVersion: metadata.resourceVersion ?? "" };
  const patch = { metadata: withoutOwner(resource, metadata) };
  await api.patch(targetDescriptor[kind], state, patch, signal);
}

/**
 * Removes the objects that belong to a resource and are not its target: former targets, whatever
 * the status says. Under `Orphan` they are released and stay. So does an object that the resource
 * does not control: it was written under that policy. One with bytes that are in no other target
 * only loses the keys of sources that are gone. Returns the report with what changed.
 * @throws KubeError
 */
export async function removeFormerTargets(
  options: KeyedTargets,
  planned: Planned,
  report: Report,
): Promise<Report> {
  const { resource, signal } = planned;
  let now = report;
  for (const one of options.targets.formers(resource)) {
    if (hasMore(planned, one)) now = await removeGoneFrom(options, planned, now, one);
    else await removeFormer(options, resource, one, signal);
  }
  return now;
}

/**
 * Reports whether a former target has bytes of a source that is missing, and the target has none of
 * them, or older ones: it was there before the change of its name.
 */
function hasMore(planned: Planned, { former, metadata }: FormerTarget): boolean {
  const { resolutions, state } = planned;
  const missing = resolutions.filter((one) => !isComplete(one)).map(({ item }) => item);
  const had = targetState(former, metadata);
  if (missing.length === 0 || state.state !== "owned" || had.state !== "owned") return false;
  if (had.annotationsCorrupted) return true;
  return missing.some((item) => {
    const own = state.synced.get(item.id);
    const isOf = isOfItem(planned, item);
    return [...had.synced].some(([id, claim]) => {
      const isOfSource = isOf([id, claim]) || (id === item.id && isOfName(planned, item, claim));
      return isOfSource && (own?.source !== claim.source || own.version < claim.version);
    });
  });
}

async function removeFormer(
  options: Targets,
  { policy }: SyncResource,
  { former, metadata }: FormerTarget,
  signal: AbortSignal,
): Promise<void> {
  const isControlled = metadata.owners.some(({ controller }) => controller);
  if (isControlled && policy.creationPolicy !== "Orphan")
    await deleteTarget(options, former, metadata, signal);
  else await releaseTarget(options, former, metadata.uid, signal);
}

/** Reports whether a Secret would not have the keys that its type requires. */
const lacksKeys = ({ causes }: KubeError): boolean =>
  causes.some(({ field, reason }) => field.startsWith("data[") && reason === "FieldValueRequired");

/**
 * Removes the keys of sources that are gone from former targets that stay, because the new target
 * does not have its content. Returns the report with what changed.
 * @throws KubeError
 */
export async function removeGoneFromFormers(
  options: KeyedTargets,
  planned: Planned,
  report: Report,
): Promise<Report> {
  let now = report;
  for (const one of options.targets.formers(planned.resource))
    now = await removeGoneFrom(options, planned, now, one);
  return now;
}

/**
 * Removes these keys from one former target. If its keys are made of several sources, it is removed
 * as a whole, and so it is if its type requires a key that is gone: no watch shows the type.
 */
async function removeGoneFrom(
  options: KeyedTargets,
  { resource, source, resolutions, before, access, signal }: Planned,
  report: Report,
  { former, metadata }: FormerTarget,
): Promise<Report> {
  const state = targetState(former, metadata);
  if (state.state !== "owned") return report;
  const { synced } = state;
  // What the resolutions say of bytes concerns the new target.
  const gone = goneClaims(resolutions, synced, ({ item }, claim) =>
    isOfName({ before, access }, item, claim),
  );
  if (gone.size === 0 || !outweighsOthers(resource, resolutions, [...gone.values()])) return report;
  if (areMixed(former, synced, gone)) {
    await removeFormer(options, resource, { former, metadata }, signal);
    return report;
  }
  try {
    const object = await removeKeys(options, { resource: former, source, signal }, state, gone);
    if (!showsTarget(before, former)) return report;
    return { ...report, changed: true, formerDigest: digestOf(options, former, object) };
  } catch (error) {
    if (!isKubeError(error, "Invalid")) throw error;
    // An immutable target stays as a whole, unless what would be left is not valid.
    if (lacksKeys(error)) await removeFormer(options, resource, { former, metadata }, signal);
    return report;
  }
}

/** Returns the digest of the bytes of an object. */
function digestOf(
  { contentKey }: KeyedTargets,
  { target }: SyncResource,
  object: KubeObject,
): string {
  return keysDigest(contentKey, bytesDigests(contentKey, readContent(target.kind, object)));
}

type Gone = ReturnType<typeof goneClaims>;

/**
 * Reports whether nothing says which keys of a target remain without sources that are gone, or none
 * does. Which keys another spec made of a source is not known.
 */
const areMixed = (resource: SyncResource, synced: Claims, gone: Gone): boolean =>
  isDerived(resource) ||
  gone.size === synced.size ||
  [...gone].some(([id, { item }]) => isOfOtherSpec(item, synced.get(id)));

/** Removes keys from this state of a target, and returns the object. @throws KubeError */
async function removeKeys(
  { api }: Targets,
  { resource, source, signal }: Pick<Planned, "resource" | "source" | "signal">,
  { synced, content: digest = "", uid, resourceVersion }: OwnedState,
  gone: Gone,
): Promise<KubeObject> {
  const { kind, name } = resource.target;
  const ref = { namespace: resource.namespace, name, uid, resourceVersion };
  const rest = new Map([...synced].filter(([id]) => !gone.has(id)));
  const rendering = { resource, owner: source.descriptor, content: new Map(), digest };
  const patch = renderPatch({ ...rendering, synced: rest }, [], [...gone.keys()]);
  return api.patch(targetDescriptor[kind], ref, patch, signal);
}

/**
 * Removes the keys of sources that are gone from a target that does not get its new content, because
 * its type is another one, or the API server rejects what is made of other sources. It is deleted if
 * its keys are made of several sources, or if its type requires one of them: while the write is
 * retried, not before other sources may lose their bytes. An immutable target stays as a whole.
 * Returns what was done, and the digest of the remaining bytes.
 * @param rejection the error of the write that the failure reports
 * @throws KubeError
 */
export async function removeGoneFromTarget(
  options: KeyedTargets,
  planned: Planned,
  rejection: KubeError,
  { next }: Failure,
): Promise<Pick<Report, "effect" | "digest"> | undefined> {
  const { resource, resolutions, state, current, signal } = planned;
  if (isFixed(rejection) || isMerged(resource) || !isOwn(state)) return undefined;
  const gone = goneClaims(resolutions, state.synced);
  const dropped = [...gone.values()];
  if (gone.size === 0 || !outweighsOthers(resource, resolutions, dropped)) return undefined;
  try {
    if (!areMixed(resource, state.synced, gone)) {
      await removeKeys(options, planned, state, gone);
      const rest = new Map([...current.keys].filter(([key]) => !gone.has(key)));
      return { effect: "updated", digest: keysDigest(options.contentKey, rest) };
    }
  } catch (error) {
    if (!isKubeError(error, "Invalid", "Forbidden")) throw error;
    if (!lacksKeys(error)) return undefined;
  }
  if (next !== DONE && !areOverdue(dropped)) return undefined;
  await deleteTarget(options, resource, state, signal);
  return { effect: "deleted", digest: undefined };
}
