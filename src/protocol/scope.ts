/** The attributes that limit a token's scope (docs/design/vault-contract.md#scopes). */
export const scopeAttributes = [
  "cloud_type",
  "environment_type",
  "application_type",
  "classification",
  "secret_name",
] as const;

export type ScopeAttribute = (typeof scopeAttributes)[number];

/** The admitted values of each attribute; `"*"` admits every value. */
export type Scope = Readonly<Record<ScopeAttribute, "*" | ReadonlySet<string>>>;

/** Reports whether the scope admits every secret. */
export function isUnlimited(scope: Scope): boolean {
  return scopeAttributes.every((attribute) => scope[attribute] === "*");
}

/** A scope that admits every secret. */
export const unlimitedScope: Scope = {
  cloud_type: "*",
  environment_type: "*",
  application_type: "*",
  classification: "*",
  secret_name: "*",
};

/** Reports whether a scope admits nothing that another one does not admit. */
export function isWithin(scope: Scope, limit: Scope): boolean {
  return scopeAttributes.every((attribute) => {
    const [values, most] = [scope[attribute], limit[attribute]];
    if (most === "*") return true;
    return values !== "*" && [...values].every((value) => most.has(value));
  });
}

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

/** The scope string is invalid. The message names the rule and never quotes the string. */
export class InvalidScopeError extends Error {
  override readonly name = "InvalidScopeError";
}

function isScopeAttribute(text: string): text is ScopeAttribute {
  return scopeAttributes.some((attribute) => attribute === text);
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new InvalidScopeError(
      "a value has an invalid percent-encoding; write a literal % as %25",
    );
  }
}

/**
 * Parses a scope string: `attribute:value` pairs, comma-separated, without spaces, each of the five
 * attributes at least once. Only the bare words `*` and `all` mean every value
 * (docs/design/vault-contract.md#scopes).
 * @throws InvalidScopeError
 */
export function parseScope(text: string): Scope {
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) {
    throw new InvalidScopeError(
      "expected well-formed Unicode without control characters; percent-encode one inside a value",
    );
  }
  if (/\s/u.test(text))
    throw new InvalidScopeError("expected no spaces; write one inside a value as %20");
  const unlimited = new Set<ScopeAttribute>();
  const values = new Map(scopeAttributes.map((attribute) => [attribute, new Set<string>()]));
  for (const pair of text.split(",")) {
    const colon = pair.indexOf(":");
    const attribute = pair.slice(0, Math.max(0, colon));
    const value = pair.slice(colon + 1);
    if (!isScopeAttribute(attribute)) {
      throw new InvalidScopeError(
        `expected a list of attribute:value pairs; the attributes are ${scopeAttributes.join(", ")}`,
      );
    }
    if (value === "")
      throw new InvalidScopeError(`${attribute} has an empty value; write * for every value`);
    if (value === "*" || value === "all") unlimited.add(attribute);
    else values.get(attribute)?.add(decode(value));
  }
  const admitted = (attribute: ScopeAttribute): "*" | ReadonlySet<string> => {
    if (unlimited.has(attribute)) return "*";
    const named = values.get(attribute) ?? new Set();
    if (named.size === 0)
      throw new InvalidScopeError(`${attribute} is missing; write ${attribute}:* for every value`);
    return named;
  };
  return scopeOf(admitted);
}

/** Returns the scope of which `admitted` returns the values of each attribute. */
export const scopeOf = (
  admitted: (attribute: ScopeAttribute) => "*" | ReadonlySet<string>,
): Scope => ({
  cloud_type: admitted("cloud_type"),
  environment_type: admitted("environment_type"),
  application_type: admitted("application_type"),
  classification: admitted("classification"),
  secret_name: admitted("secret_name"),
});

/**
 * Reports whether the scope admits a secret of this name and metadata: every attribute must admit
 * the value of the secret.
 */
export function scopeReaches(
  scope: Scope,
  name: string,
  metadata: Readonly<Record<string, unknown>>,
): boolean {
  return scopeAttributes.every((attribute) => {
    const admitted = scope[attribute];
    if (admitted === "*") return true;
    const actual = attribute === "secret_name" ? name : metadata[attribute];
    return typeof actual === "string" && admitted.has(actual);
  });
}
