import type { z } from "zod";

/**
 * Attaches one validation rule twice: as CEL for the API server (design: "rules that one object can break alone are CEL in the CRD")
 * and as a check for the reconciler, since the installed CRD may be older than the operator. Several rules on one schema add up.
 */
export function withRule<T extends z.ZodType>(
  schema: T,
  rule: { readonly cel: string; readonly message: string; readonly check: (value: z.output<T>) => boolean },
): T {
  const earlier: unknown = schema.meta()?.["x-kubernetes-validations"];
  const validations = [...(Array.isArray(earlier) ? earlier : []), { rule: rule.cel, message: rule.message }];
  return schema.refine(rule.check, rule.message).meta({ "x-kubernetes-validations": validations });
}

/** `spec.data[0].remoteRef.version: what would be right`, for up to three problems of a spec. Never the value that was found. */
export function explainProblems(error: z.ZodError): string {
  const problems = error.issues.slice(0, 3).map(({ path, message }) => {
    const field = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
    return `spec${field}: ${message}`;
  });
  return problems.join("; ") + (error.issues.length > 3 ? `; and ${error.issues.length - 3} more` : "");
}
