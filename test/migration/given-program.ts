import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The program of External Secrets Operator, and the file with its CRDs. */
    externalSecrets: { readonly program: string; readonly crds: string };
  }
}

/**
 * Vitest's global setup: passes on where External Secrets Operator is.
 *
 * @throws Error when the environment does not say so
 */
export default function setup(project: TestProject): void {
  const { ESO_PROGRAM: program, ESO_CRDS: crds } = process.env;
  if (!program || !crds)
    throw new Error(
      "set ESO_PROGRAM to the program of External Secrets Operator, built from its sources with the tag fake, and ESO_CRDS to its deploy/crds/bundle.yaml",
    );
  project.provide("externalSecrets", { program, crds });
}
