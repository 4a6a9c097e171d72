import type { Value } from "../value.ts";

/**
 * Means of a function in addition to its arguments. Nothing leads to a file, the network, the
 * environment or the clock.
 */
export interface Tools {
  /**
   * Returns a salt of at most 32 bytes that depends on the installation, on the target and on these
   * inputs only. Equal input has equal output: a target is not written again without a change.
   */
  readonly salt: (purpose: string, size: number, ...inputs: readonly Uint8Array[]) => Buffer;
  /**
   * Accounts for work that the sizes of the arguments and of the result do not show. @throws
   * BudgetExceeded
   */
  readonly spend: (units: number) => void;
}

/**
 * A function of templates. Pure: the result depends on the arguments and on {@link Tools.salt}
 * only.
 */
export interface TemplateFunction {
  /** Number of arguments after the value: the least and the most. */
  readonly arguments: readonly [least: number, most: number];
  /** @throws TemplateFault */
  run(input: Value, args: readonly Value[], tools: Tools): string | Uint8Array;
}
