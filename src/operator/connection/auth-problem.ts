import type { Reason } from "../api/reasons.ts";
import type { AuthError } from "../vault-client/vault-error.ts";
import type { ConnectionFacts } from "./connection-facts.ts";

/** The meaning of a failure of a connection, and how to resolve it. */
export interface ConnectionProblem {
  /** The check of `vaultsync doctor` that finds it. */
  readonly check:
    | "address"
    | "DNS"
    | "network"
    | "TLS"
    | "vault"
    | "login"
    | "scope"
    | "credentials";
  readonly reason: Reason;
  /** The field of the spec to correct, if it is certain that the spec is wrong. */
  readonly field?: string;
  readonly cause: string;
  readonly remedy: string;
}

const login = { check: "login", reason: "AuthFailed" } as const;

/** The problem of a vault without the operation that a ServiceAccount logs in with. */
export const noIdentities: ConnectionProblem = {
  ...login,
  cause: "the vault accepts no tokens of ServiceAccounts",
  remedy: "start it with --identity-issuers, or use spec.auth.passwordSecretRef",
};

const credentialOf: Readonly<Record<ConnectionFacts["login"], string>> = {
  password: "password in",
  tokens: "refresh_token in",
  identity: "token of",
};

function rejectedToken({ login: kind, credentials, email }: ConnectionFacts): ConnectionProblem {
  if (kind !== "tokens")
    return {
      ...login,
      cause: "the vault rejects the token that it has just issued",
      remedy: "check the vault, and its clock",
    };
  return {
    ...login,
    cause: `the vault rejects the access_token in ${credentials}`,
    remedy: newTokens(email),
  };
}

const newTokens = (email: string): string => `store a new pair of tokens of ${email} there`;

/** Returns what a rejected login of a connection means. */
export function authProblem(error: AuthError, facts: ConnectionFacts): ConnectionProblem {
  const { credentials, login: kind, email } = facts;
  switch (error.code) {
    case "missing":
      return {
        check: "credentials",
        reason: "CredentialsMissing",
        cause: error.text,
        remedy: "",
      };
    case "unusable":
      return { ...login, check: "credentials", cause: error.text, remedy: "" };
    case "email_mismatch":
      return {
        ...login,
        cause: `the tokens in ${credentials} belong to another account`,
        remedy: `${newTokens(email)}, or correct spec.email`,
      };
    case "refresh_token":
      return {
        ...login,
        cause: `the vault rejects the refresh_token in ${credentials}`,
        remedy: newTokens(email),
      };
    case "token":
      return rejectedToken(facts);
    case "too_many_rejected":
      return {
        ...login,
        cause: `the ${credentialOf[kind]} ${credentials} was not sent: the vault rejected more than 8 others that this namespace stores for ${email}, or more than 32 of all namespaces`,
        remedy: "correct or delete those connections",
      };
    case "identity":
      return {
        ...login,
        cause: `the vault rejects ${credentials} as an identity of the account`,
        remedy: `add it there with vaultsync vault identity add ${email}, and compare the issuer and the audience`,
      };
    case "credentials":
      return {
        ...login,
        cause: `the vault rejects the password in ${credentials}, or does not know the account`,
        remedy: "correct the password there, or spec.email",
      };
  }
}
