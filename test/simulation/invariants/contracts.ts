import { fits } from "../simulated-rules.ts";
import type { Origin } from "../simulated-vaults.ts";
import { Violation } from "../violation.ts";
import { type Item, type Output, outputsOf, type Spec } from "./spec-items.ts";
import { contentOf, type TargetWrite } from "./target-write.ts";

/** Returns what an item makes of a value, in base64. */
const bytesOf = ({ member }: Item, { whole, parts }: Origin): string | undefined =>
  member === undefined ? whole : parts.get(member);

/** Reports whether a value has bytes for an item that do not fit its rules. */
export function isUnfit(item: Item, origin: Origin): boolean {
  const bytes = bytesOf(item, origin);
  return bytes !== undefined && !fits(item.rules, bytes);
}

/**
 * Reports whether the bytes of a key are, or are rendered of, a value that does not fit the rules
 * of its item. Of several items with one source it is not known which one a value is of.
 */
function isBroken({ world }: TargetWrite, spec: Spec, output: Output, base64: string): boolean {
  const { items } = output;
  if (spec.target?.template === undefined) return items.every(({ rules }) => !fits(rules, base64));
  if (!fits(output.rules, base64)) return true;
  const origins = world.vaults.originsIn(base64);
  return items.some(
    (item) =>
      items.every((other) => other === item || other.source !== item.source) &&
      origins.some((origin) => origin.name === item.source && isUnfit(item, origin)),
  );
}

/**
 * No write puts bytes under a key that do not fit the rules of every spec that names the key (I22).
 */
export function checkContracts(write: TargetWrite): void {
  const { history, name, namespace, owner, before, is } = write;
  const had = before ? contentOf(before) : {};
  for (const [key, base64] of Object.entries(is)) {
    if (had[key] === base64) continue;
    const broken = history
      .recent(namespace, owner)
      .flatMap((spec) =>
        outputsOf(spec).flatMap((output) =>
          output.key === key ? [isBroken(write, spec, output, base64)] : [],
        ),
      );
    if (broken.length > 0 && broken.every(Boolean))
      throw new Violation("I22", `${name}: key ${key} has bytes that do not fit its rules`);
  }
}
