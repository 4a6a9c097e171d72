import type { z } from "zod";
import { firstOf } from "../lib/first-of.ts";

/**
 * Attaches one validation rule twice: as CEL for the API server, and as a check for the reconciler,
 * because the installed CRD may be older than the operator. Rules accumulate on a schema; see
 * docs/design/status.md#schemas.
 */
export function withRule<T extends z.ZodType>(
  schema: T,
  rule: {
    readonly cel: string;
    readonly message: string;
    readonly check: (value: z.output<T>) => boolean;
  },
): T {
  const earlier: unknown = schema.meta()?.["x-kubernetes-validations"];
  const validations = [
    ...(Array.isArray(earlier) ? earlier : []),
    { rule: rule.cel, message: rule.message },
  ];
  return schema.refine(rule.check, rule.message).meta({ "x-kubernetes-validations": validations });
}

/**
 * Formats up to three problems of a spec, or another `root`, as `spec.data[0].remoteRef.version:
 * must be …`. Never includes the rejected value.
 */
export function explainProblems(error: z.ZodError, root = "spec"): string {
  const text = ({ path, message }: z.core.$ZodIssue): string => {
    const field = path
      .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
      .join("");
    return `${root}${field}: ${message}`;
  };
  return firstOf(error.issues, { separator: "; ", text });
}
