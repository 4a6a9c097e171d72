import { scopeAttributes, type Scope } from "./scope.ts";

/** What would end a value, start an escape, or break the rule "no spaces". */
const RESERVED = /[%,\s\p{C}]/gu;

function escapeValue(value: string): string {
  // The bare words mean every value, so a secret of that name is written with an escape.
  if (value === "*") return "%2A";
  if (value === "all") return "%61ll";
  return value.toWellFormed().replace(RESERVED, encodeURIComponent);
}

/**
 * The scope as the string the service takes: `attribute:value` pairs, comma-separated, all five attributes, the same scope always the
 * same string. Source: the interface, "Scope string"; percent-encoding: the vault contract, "Tokens".
 * @throws RangeError when an attribute admits no value at all, or an empty one
 */
export function formatScope(scope: Scope): string {
  return scopeAttributes
    .flatMap((attribute) => {
      const values = scope[attribute];
      if (values === "*") return [`${attribute}:*`];
      if (values.size === 0 || values.has(""))
        throw new RangeError(`the scope needs at least one value of ${attribute}, none empty`);
      return [...values].sort().map((value) => `${attribute}:${escapeValue(value)}`);
    })
    .join(",");
}
