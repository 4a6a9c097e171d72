import type { Progress } from "../progress.ts";
import type { Release } from "./version.ts";

/**
 * The result of a source: a directory with all of `components`, or an image of k3s in the local
 * Docker.
 */
export type Provision =
  | { readonly kind: "binaries"; readonly directory: string }
  | { readonly kind: "k3s"; readonly image: string; readonly kubectl: string };

export type Outcome = Provision | { readonly kind: "unavailable"; readonly why: string };

export interface SourceContext {
  readonly environment: NodeJS.ProcessEnv;
  readonly release: Release;
  /** Directory for downloaded or built binaries (see `install`). */
  readonly cache: string;
  readonly progress: Progress;
}

/**
 * A source of a control plane. It returns the reason when it is not available and does not throw.
 */
export interface Source {
  /** Description for the user, e.g. "KUBEBUILDER_ASSETS, a directory with the binaries". */
  readonly name: string;
  find(context: SourceContext): Promise<Outcome>;
}

export function unavailable(why: string): Outcome {
  return { kind: "unavailable", why };
}
