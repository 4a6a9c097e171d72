import { ADOPT_ANNOTATION } from "../../api/names.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { droppedFrom } from "../../sync/gone-claims.ts";
import { mergeManager } from "../../sync/merged-claims.ts";
import type { TargetState } from "../../sync/target.ts";
import { renderMerge, type Rendering } from "./render-target.ts";
import type { Planned } from "./stages.ts";
import { targetDescriptor } from "./target-metadata.ts";
import { isOfResource, keysOfOthers } from "./write-failure.ts";

type State = Extract<TargetState, { readonly state: "owned" }>;

/**
 * Applies the keys of a resource to this state of a foreign object. Keys of other field managers are
 * taken over if the owner of the object hands them over, and no other resource of the operator has
 * merged them.
 * @throws KubeError, `Conflict` for other keys of such managers
 */
export async function mergeKeys(
  api: KubeApi,
  rendering: Rendering,
  state: State,
  planned: Planned,
): Promise<KubeObject> {
  const written = await applyKeys(api, rendering, state, planned);
  return state.handsOver === undefined
    ? written
    : endHandOver(api, written, state.handsOver, planned);
}

async function applyKeys(
  api: KubeApi,
  rendering: Rendering,
  state: State,
  planned: Planned,
): Promise<KubeObject> {
  const { resource, signal } = planned;
  const descriptor = targetDescriptor[resource.target.kind];
  const fieldManager = mergeManager(resource);
  const keys = renderMerge(rendering, state);
  try {
    return await api.apply(descriptor, keys, { fieldManager }, signal);
  } catch (error) {
    if (!isKubeError(error, "Conflict", "Invalid", "Forbidden")) throw error;
    const taken = keysOfOthers(error);
    if (error.kind === "Conflict" && taken.length === 0) throw error;
    if (taken.length > 0 && state.handsOver !== undefined && !isOfResource(error))
      return api.apply(descriptor, keys, { fieldManager, force: true }, signal);
    await applyRest(api, rendering, state, planned, taken);
    throw error;
  }
}

/**
 * Lets sources that are gone leave an object that does not get its new content: others have taken
 * some of the keys, or the type of the object does not allow the bytes of one. What remains is
 * applied, without the taken keys or else with its present bytes, and with a digest that it does not
 * match.
 */
async function applyRest(
  api: KubeApi,
  rendering: Rendering,
  state: State,
  { resource, current, report, signal }: Planned,
  taken: readonly string[],
): Promise<void> {
  if (droppedFrom(report.resolutions ?? [], state).length === 0) return;
  const rest = [...rendering.content].flatMap(([key, bytes]): [string, Uint8Array][] => {
    if (taken.length > 0) return taken.includes(key) ? [] : [[key, bytes]];
    const present = current.content.get(key);
    return present === undefined ? [] : [[key, present]];
  });
  const keys = renderMerge({ ...rendering, content: new Map(rest) }, state, true);
  const options = { fieldManager: mergeManager(resource) };
  await api.apply(targetDescriptor[resource.target.kind], keys, options, signal);
}

/** Removes the resource from the annotation that hands keys over: later conflicts are reported. */
function endHandOver(
  api: KubeApi,
  { metadata: { namespace, name, uid, resourceVersion } }: KubeObject,
  others: readonly string[],
  { resource, signal }: Planned,
): Promise<KubeObject> {
  const annotations = { [ADOPT_ANNOTATION]: others.length === 0 ? null : others.join(",") };
  const ref = { namespace, name, uid, resourceVersion };
  const descriptor = targetDescriptor[resource.target.kind];
  return api.patch(descriptor, ref, { metadata: { annotations } }, signal);
}
