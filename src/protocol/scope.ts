/** The attributes a token's reach is limited by. Source: the interface, "Scope string". */
export const scopeAttributes = ["cloud_type", "environment_type", "application_type", "classification", "secret_name"] as const;

export type ScopeAttribute = (typeof scopeAttributes)[number];

/** For each attribute the values it admits; `"*"` admits every value. */
export type Scope = Readonly<Record<ScopeAttribute, "*" | ReadonlySet<string>>>;

/** A scope that reaches everything. */
export const unlimitedScope: Scope = {
  cloud_type: "*",
  environment_type: "*",
  application_type: "*",
  classification: "*",
  secret_name: "*",
};
