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
