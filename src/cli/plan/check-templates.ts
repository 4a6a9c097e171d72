import { checkTemplate } from "../../operator/template/check-template.ts";
import { type Problem, problemAt } from "../manifests/manifests.ts";
import type { PlannedResource } from "./planned-resource.ts";

/** Returns the problems of the templates of a resource: syntax, and names that none of its sources has. */
function problemsOf({ manifest, template, items, hasKnownKeys }: PlannedResource): readonly Problem[] {
  if (template === undefined) return [];
  const names = hasKnownKeys ? new Set(items.map(({ key }) => key)) : undefined;
  return checkTemplate(template, names).map(({ key, message }) =>
    problemAt(manifest, ["spec", "target", "template", "data", key], message),
  );
}

/** Returns what the operator would report as TemplateError and the manifests show already. */
export const checkTemplates = (resources: readonly PlannedResource[]): readonly Problem[] => resources.flatMap(problemsOf);
