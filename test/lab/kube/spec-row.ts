import type { Kind } from "../../../src/operator/api/kinds.ts";

/** A spec, and whether the CRD and the operator reject it. */
export interface SpecRow {
  readonly what: string;
  readonly kind: Kind;
  readonly spec: unknown;
  /**
   * Part of the operator's message; with `both` the API server has it as well. `undefined`: the
   * spec is valid.
   */
  readonly rejected: { readonly message: string; readonly both: boolean } | undefined;
}

/** Rejected by a validation rule, with the same message on both sides. */
export const rejectedByRule = (message: string): SpecRow["rejected"] => ({ message, both: true });
/** Rejected by the schema, with a different message on each side. */
export const rejectedBySchema = (message: string): SpecRow["rejected"] => ({
  message,
  both: false,
});

export type Case = readonly [what: string, spec: unknown, rejected?: SpecRow["rejected"]];
