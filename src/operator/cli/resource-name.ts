import type { Kind } from "../api/kinds.ts";

/** A resource as the command line names it. */
export interface ResourceName {
  readonly kind: Kind;
  readonly name: string;
}
