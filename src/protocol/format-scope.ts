import { scopeAttributes, type Scope } from "./scope.ts";

/** Characters that end a value, start an escape or are forbidden in a scope. */
const RESERVED = /[%,\s\p{C}]/gu;

function escapeValue(value: string): string {
  // The bare words mean every value, so a secret of that name is escaped.
  if (value === "*") return "%2A";
  if (value === "all") return "%61ll";
  return value.toWellFormed().replace(RESERVED, encodeURIComponent);
}

/**
 * Formats a scope as the vault expects it: comma-separated `attribute:value` pairs of all five
 * attributes (docs/design/vault-contract.md#scopes). Equal scopes give equal strings.
 * @throws RangeError when an attribute admits no value, or an empty one
 */
export function formatScope(scope: Scope): string {
  return scopeAttributes
    .flatMap((attribute) => {
      const values = scope[attribute];
      if (values === "*") return [`${attribute}:*`];
      if (values.size === 0 || values.has(""))
        throw new RangeError(
          `scope: expected at least one value of ${attribute}, none of them empty`,
        );
      return [...values].sort().map((value) => `${attribute}:${escapeValue(value)}`);
    })
    .join(",");
}
