import { codeOf } from "../../lib/errors.ts";
import { Slots } from "../../lib/slots.ts";
import type { ValueContract } from "../api/value-contract.ts";
import { aside } from "../lib/aside.ts";
import { type BrokenRule, brokenRule, type CheckedValue } from "./value-contract.ts";

interface Job {
  readonly contract: ValueContract;
  readonly value: CheckedValue;
}

/**
 * Maximum number of bytes that are checked in this thread: it is blocked for some 10 ms at most.
 * Regular expressions and YAML take a hundred times as long as the other rules.
 */
const INLINE_BYTES = 64 * 1024;
const INLINE_COSTLY_BYTES = 4 * 1024;

/** Values of one namespace must not take the memory of the operator. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 };
const inThread = aside(
  { url: import.meta.url, name: "value", resourceLimits },
  ({ contract, value }: Job) => brokenRule(contract, value),
);
const TOO_COSTLY: BrokenRule = {
  rule: "format",
  expected: "a value that can be checked with less memory: make it shorter",
};

/** One thread at a time, to bound the memory and processors in use; namespaces take turns. */
const thread = new Slots(1);
const never = new AbortController().signal;

/**
 * Returns the first rule that a value does not fit, as {@link brokenRule} does. A long value is
 * checked in a separate thread.
 */
export async function checkValueAside(
  contract: ValueContract,
  value: CheckedValue,
  namespace: string,
): Promise<BrokenRule | undefined> {
  const isCostly = contract.pattern !== undefined || contract.format === "YAML";
  const limit = isCostly ? INLINE_COSTLY_BYTES : INLINE_BYTES;
  if (value.bytes.byteLength <= limit) return brokenRule(contract, value);
  // Copies the bytes only, not the buffer that they are a part of.
  const job: Job = { contract, value: { ...value, bytes: new Uint8Array(value.bytes) } };
  const check = (): Promise<BrokenRule | undefined> =>
    inThread(job).catch((error: unknown) => {
      if (codeOf(error) === "ERR_WORKER_OUT_OF_MEMORY") return TOO_COSTLY;
      throw error;
    });
  return thread.run(never, check, namespace);
}
