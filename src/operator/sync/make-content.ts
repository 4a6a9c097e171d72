import { createHmac } from "node:crypto";
import { Redacted } from "../../lib/redacted.ts";
import { renderAside } from "../template/render-aside.ts";
import { checkValueAside } from "./check-value-aside.ts";
import type { Content } from "./content.ts";
import { derive, type Input } from "./derive.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import type { SyncResource } from "./sync-resource.ts";
import { firstOf } from "../lib/first-of.ts";

/** Returns the condition for the first value that does not fit the rules of its item. */
async function contractProblem(
  { namespace }: SyncResource,
  inputs: readonly Input[],
  values: Content,
  now: number,
): Promise<ReadyCondition | undefined> {
  for (const { item, version, isServed = false } of inputs) {
    const { id, source, contract } = item;
    const bytes = values.get(id);
    if (contract === undefined || bytes === undefined) continue;
    const value = { bytes, now: isServed ? undefined : now };
    const broken = await checkValueAside(contract, value, namespace);
    if (broken === undefined) continue;
    const message = `version ${version} of ${source} does not fit the rule ${broken.rule} of the key ${id}: expected ${broken.expected}`;
    return notReady("InvalidContent", message);
  }
  return undefined;
}

/** Returns the condition for the first key of a template that does not fit its rules. */
async function renderedProblem(
  { namespace, template }: SyncResource,
  inputs: readonly Input[],
  content: Content,
  now: number,
): Promise<ReadyCondition | undefined> {
  const isServed = inputs.every((input) => input.isServed === true);
  for (const [key, contract] of Object.entries(template?.contracts ?? {})) {
    const bytes = content.get(key);
    if (bytes === undefined) continue;
    const value = { bytes, now: isServed ? undefined : now };
    const broken = await checkValueAside(contract, value, namespace);
    if (broken === undefined) continue;
    const sources = inputs.map(({ item, version }) => `version ${version} of ${item.source}`);
    const message = `the template makes a key ${key} of ${firstOf(sources)} that does not fit its rule ${broken.rule}: expected ${broken.expected}`;
    return notReady("InvalidContent", message);
  }
  return undefined;
}

/**
 * Computes the content of a target from the bytes of its sources, by the template if there is one,
 * or returns the condition that explains why there is none. Equal input has equal output.
 * @param key secret that the salts of templates are derived from
 * @param now time at which certificates have to be valid
 */
export async function makeContent(
  resource: SyncResource,
  inputs: readonly Input[],
  key: Redacted<Uint8Array>,
  now: number,
): Promise<Content | ReadyCondition> {
  const values = derive(resource, inputs);
  if ("reason" in values) return values;
  const problem = await contractProblem(resource, inputs, values, now);
  if (problem !== undefined) return problem;
  const { template, kind, namespace, name } = resource;
  if (template === undefined) return values;
  const seed = createHmac("sha256", key.reveal())
    .update(`template:${kind}/${namespace}/${name}`)
    .digest();
  const rendering = await renderAside(
    { template, variables: values, seed: new Redacted(seed) },
    namespace,
  );
  if (!rendering.ok) return notReady("TemplateError", rendering.message);
  return (await renderedProblem(resource, inputs, rendering.content, now)) ?? rendering.content;
}
