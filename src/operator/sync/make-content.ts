import { createHmac } from "node:crypto";
import { Redacted } from "../../lib/redacted.ts";
import { renderAside } from "../template/render-aside.ts";
import type { Content } from "./content.ts";
import { derive, type Input } from "./derive.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import type { SyncResource } from "./sync-resource.ts";

/**
 * Computes the content of a target from the bytes of its sources, by the template if there is one,
 * or returns the condition that explains why there is none. Equal input has equal output.
 * @param key secret that the salts of templates are derived from
 */
export async function makeContent(
  resource: SyncResource,
  inputs: readonly Input[],
  key: Redacted<Uint8Array>,
): Promise<Content | ReadyCondition> {
  const values = derive(resource, inputs);
  const { template, kind, namespace, name } = resource;
  if (template === undefined || "reason" in values) return values;
  const seed = createHmac("sha256", key.reveal())
    .update(`template:${kind}/${namespace}/${name}`)
    .digest();
  const rendering = await renderAside(
    { template, variables: values, seed: new Redacted(seed) },
    namespace,
  );
  return rendering.ok ? rendering.content : notReady("TemplateError", rendering.message);
}
