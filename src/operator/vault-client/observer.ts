import type { Operation } from "../../protocol/operations.ts";
import type { VaultErrorKind } from "./vault-error.ts";

/** `unchanged` is a 304; `aborted`: the caller gave up, or the connection was closed. */
export type CallOutcome = "ok" | "unchanged" | "aborted" | VaultErrorKind;

/** Who counts. One `call` for each request that was sent, none for those that were kept back. */
export interface VaultObserver {
  call(operation: Operation, outcome: CallOutcome, durationMs: number): void;
  /** The circuit of the connection opened, or closed again. */
  circuit(open: boolean): void;
  /** A value was wanted, and was at hand or had to be fetched. */
  cache(hit: boolean): void;
}

const nothing = (): void => undefined;
export const silentObserver: VaultObserver = { call: nothing, circuit: nothing, cache: nothing };
