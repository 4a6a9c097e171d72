import type { z } from "zod";

/** `spec.data[0].remoteRef.version: what would be right`, for up to three problems of a spec. Never the value that was found. */
export function explainProblems(error: z.ZodError): string {
  const problems = error.issues.slice(0, 3).map(({ path, message }) => {
    const field = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
    return `spec${field}: ${message}`;
  });
  return problems.join("; ") + (error.issues.length > 3 ? `; and ${error.issues.length - 3} more` : "");
}
