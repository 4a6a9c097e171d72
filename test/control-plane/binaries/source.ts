import type { Progress } from "../progress.ts";

/** What a source gives: a directory with all of `components`, or an image of k3s that the local Docker has. */
export type Provision =
  | { readonly kind: "binaries"; readonly directory: string }
  | { readonly kind: "k3s"; readonly image: string; readonly kubectl: string };

export type Outcome = Provision | { readonly kind: "unavailable"; readonly why: string };

export interface SourceContext {
  readonly environment: NodeJS.ProcessEnv;
  /** Where a source that makes binaries puts them (see `install`). */
  readonly cache: string;
  readonly progress: Progress;
}

/** One way to come by a control plane. It says why it cannot instead of throwing; a throw is a defect. */
export interface Source {
  /** What a reader can do about it, e.g. "KUBEBUILDER_ASSETS names a directory with the binaries". */
  readonly name: string;
  find(context: SourceContext): Promise<Outcome>;
}

export function unavailable(why: string): Outcome {
  return { kind: "unavailable", why };
}
