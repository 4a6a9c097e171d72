import type { KubeApi } from "../../kube/client/kube-api.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { droppedFrom } from "../../sync/decide.ts";
import { mergeManager } from "../../sync/merged-claims.ts";
import type { TargetState } from "../../sync/target.ts";
import { renderMerge, type Rendering } from "./render-target.ts";
import type { Planned } from "./stages.ts";
import { targetDescriptor } from "./target-metadata.ts";
import { keysOfOthers } from "./write-failure.ts";

/**
 * Applies the keys of a resource to this state of a foreign object. If other field managers have
 * taken some of them, sources that are gone leave the object nevertheless: what remains is applied
 * without the taken keys, and with a digest that it does not match.
 * @throws KubeError, `Conflict` also then
 */
export async function mergeKeys(
  api: KubeApi,
  rendering: Rendering,
  state: Extract<TargetState, { readonly state: "owned" }>,
  { resource, report, signal }: Planned,
): Promise<KubeObject> {
  const descriptor = targetDescriptor[resource.target.kind];
  const options = { fieldManager: mergeManager(resource) };
  try {
    return await api.apply(descriptor, renderMerge(rendering, state), options, signal);
  } catch (error) {
    const taken = isKubeError(error, "Conflict") ? keysOfOthers(error) : [];
    if (taken.length > 0 && droppedFrom(report.resolutions ?? [], state).length > 0) {
      const content = new Map([...rendering.content].filter(([key]) => !taken.includes(key)));
      const rest = renderMerge({ ...rendering, content }, state, true);
      await api.apply(descriptor, rest, options, signal);
    }
    throw error;
  }
}
