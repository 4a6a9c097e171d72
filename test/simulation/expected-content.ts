import { rendered, type Spec } from "./invariants/spec-items.ts";
import type { Resolved } from "./resolved-items.ts";
import { fits } from "./simulated-rules.ts";
import { fitsType, requiredKeys } from "./simulated-values.ts";
import type { World } from "./world.ts";

/** The content that a target must have, in base64, or why it can have none. */
export interface ExpectedContent {
  readonly keys: Readonly<Record<string, string>>;
  readonly problems: readonly string[];
}

/** Returns the content that the values of these sources make up. */
export function expectedContent(
  world: World,
  spec: Spec,
  resolved: readonly Resolved[],
): ExpectedContent {
  const problems = new Set<string>();
  const values = new Map<string, string>();
  const found = new Map<string, string>();
  for (const { item, base64 } of resolved) {
    if (base64 === undefined) continue;
    const bytes =
      item.member === undefined ? base64 : world.vaults.origin(base64)?.parts.get(item.member);
    if (bytes === undefined && item.absence !== "member") problems.add("InvalidProperty");
    if (bytes === undefined) continue;
    if (!fits(item.rules, bytes)) problems.add("InvalidContent");
    const isFoundTwice = item.absence === "found" && found.get(item.key) === item.source;
    if (values.has(item.key) && !isFoundTwice) problems.add("InvalidKey");
    if (item.absence === "found") found.set(item.key, item.source);
    values.set(item.key, bytes);
  }
  const { template, validate = {} } = spec.target ?? {};
  if (template === undefined || values.size === 0)
    return { keys: Object.fromEntries(values), problems: [...problems] };
  const variables = new Map(
    [...values].map(([name, base64]) => [name, Buffer.from(base64, "base64").toString()]),
  );
  const keys = Object.entries(template.data).flatMap(([key, text]): [string, string][] => {
    const result = rendered(text, variables);
    if (result === undefined) problems.add("TemplateError");
    if (result === undefined) return [];
    const base64 = Buffer.from(result).toString("base64");
    if (!fits(validate[key], base64)) problems.add("InvalidContent");
    return [[key, base64]];
  });
  return { keys: Object.fromEntries(keys), problems: [...problems] };
}

/**
 * Returns the reasons, one of which a resource reports instead of writing such a content; none if
 * it writes it.
 */
export function contentProblem(spec: Spec, { keys, problems }: ExpectedContent): readonly string[] {
  const { type } = spec.target ?? {};
  if (problems.length > 0) return problems;
  if (Object.keys(keys).length === 0) return [];
  const isComplete = requiredKeys(type).every((any) => any.some((key) => key in keys));
  if (!isComplete) return ["InvalidKey", "InvalidSpec", "SourceMissing"];
  return fitsType(type, keys) ? [] : ["InvalidContent"];
}
