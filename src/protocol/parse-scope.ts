import { scopeAttributes, type Scope, type ScopeAttribute } from "./scope.ts";

/** The scope string breaks the rules; `message` says which, without quoting the string. */
export class InvalidScope extends Error {
  override readonly name = "InvalidScope";
}

function isScopeAttribute(text: string): text is ScopeAttribute {
  return scopeAttributes.some((attribute) => attribute === text);
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new InvalidScope("a value holds a broken percent-encoding: write a literal % as %25");
  }
}

/**
 * Reads a scope string: `attribute:value` pairs, comma-separated, no spaces, the five attributes each at least once. Only the bare words
 * `*` and `all` mean every value. Source: the interface, "Scope string"; the vault contract, "Tokens" and "Fine print".
 * @throws InvalidScope
 */
export function parseScope(text: string): Scope {
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) {
    throw new InvalidScope("a scope is well-formed Unicode without control characters: write one inside a value percent-encoded");
  }
  if (/\s/u.test(text)) throw new InvalidScope("a scope holds no spaces: write one inside a value as %20");
  const everything = new Set<ScopeAttribute>();
  const values = new Map(scopeAttributes.map((attribute) => [attribute, new Set<string>()]));
  for (const pair of text.split(",")) {
    const colon = pair.indexOf(":");
    const attribute = pair.slice(0, Math.max(0, colon));
    const value = pair.slice(colon + 1);
    if (!isScopeAttribute(attribute)) {
      throw new InvalidScope(`a scope is a list of attribute:value pairs; the attributes are ${scopeAttributes.join(", ")}`);
    }
    if (value === "") throw new InvalidScope(`${attribute} has an empty value: write * for every value`);
    if (value === "*" || value === "all") everything.add(attribute);
    else values.get(attribute)?.add(decode(value));
  }
  const admitted = (attribute: ScopeAttribute): "*" | ReadonlySet<string> => {
    if (everything.has(attribute)) return "*";
    const named = values.get(attribute) ?? new Set();
    if (named.size === 0) throw new InvalidScope(`${attribute} is missing: write ${attribute}:* for every value`);
    return named;
  };
  return {
    cloud_type: admitted("cloud_type"),
    environment_type: admitted("environment_type"),
    application_type: admitted("application_type"),
    classification: admitted("classification"),
    secret_name: admitted("secret_name"),
  };
}

/** Whether the scope reaches a secret of this name and metadata: every attribute admits the secret's value. */
export function scopeReaches(scope: Scope, name: string, metadata: Readonly<Record<string, unknown>>): boolean {
  return scopeAttributes.every((attribute) => {
    const admitted = scope[attribute];
    if (admitted === "*") return true;
    const actual = attribute === "secret_name" ? name : metadata[attribute];
    return typeof actual === "string" && admitted.has(actual);
  });
}
