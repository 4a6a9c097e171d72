import { describe, expect, test } from "vitest";
import { testFacts } from "../../../test/lab/vault/open-connection.ts";
import {
  AuthError,
  ListTooLongError,
  PermanentError,
  RateLimitedError,
  RefusedError,
  TransientError,
  UnexpectedResponse,
} from "../vault-client/vault-error.ts";
import type { ConnectionFacts } from "./connection-facts.ts";
import { connectionProblem, explainFailure, explainToUser } from "./connection-problem.ts";

const login = "generate_access_token";
const exchange = "exchange_identity_token";
const explain = (error: Error, changes: Partial<ConnectionFacts> = {}): string =>
  explainFailure(error, { ...testFacts, ...changes }).replace(
    /^cannot (log in to|use) https:\/\/vault\.example\.com as ops@example\.com: /u,
    "",
  );

/** Those that test/e2e/mistakes.test.ts does not make. */
describe("explainFailure says what is wrong and what to do", () => {
  test.each<[string, Error, string]>([
    [
      "a certificate that has expired",
      new RefusedError(login, "tls", "CERT_HAS_EXPIRED"),
      "the certificate of vault.example.com has expired (CERT_HAS_EXPIRED); renew it at the vault",
    ],
    [
      "a certificate of the future",
      new RefusedError(login, "tls", "CERT_NOT_YET_VALID"),
      "the certificate of vault.example.com is not valid yet (CERT_NOT_YET_VALID); check the clocks of the vault and of the operator",
    ],
    [
      "a certificate of another host",
      new RefusedError(login, "tls", "ERR_TLS_CERT_ALTNAME_INVALID"),
      "the certificate is not for the host vault.example.com (ERR_TLS_CERT_ALTNAME_INVALID); use a host in spec.url that it names, or issue one for this host",
    ],
    [
      "another failure of TLS",
      new RefusedError(login, "tls", "EPROTO"),
      "no TLS connection to vault.example.com (EPROTO); check that spec.url leads to an https server that offers TLS 1.2 or later with a valid certificate",
    ],
    [
      "a host that is not allowed",
      new RefusedError(login, "host"),
      "spec.url: --vault-hosts does not include vault.example.com; use an allowed host, or add this one to the flag of the operator",
    ],
    [
      "a proxy that refuses the host",
      new TransientError(login, "unreachable", { detail: "PROXY_403" }),
      "the proxy of the operator opens no connection to vault.example.com (PROXY_403); check that --vault-proxy is its address and that it allows the host, or name the host in --vault-no-proxy",
    ],
    [
      "a redirect",
      new RefusedError(login, "redirect"),
      "spec.url: the vault redirects to another address; set spec.url to the final one",
    ],
    [
      "a name with a forbidden address",
      new RefusedError(login, "address", "169.254.169.254"),
      "169.254.169.254 is not the address of a vault, but link-local, multicast, or that of a cloud's instance credentials; correct the DNS record of vault.example.com, or spec.url",
    ],
    [
      "a slow vault",
      new TransientError(login, "timeout"),
      "no response from vault.example.com in time; check the network and the load of the vault, or raise spec.timeout",
    ],
    [
      "a broken vault",
      new TransientError(login, "server_error", { status: 503 }),
      "the vault responds with status 503; check the vault and the proxies before it",
    ],
    [
      "an API server that does not respond",
      new TransientError(login, "credentials_not_read", { detail: "Timeout" }),
      "the API server did not return Secret vault-login, key password (Timeout); check the API server",
    ],
    [
      "a lack of memory for lists",
      new TransientError(login, "no_memory"),
      "other responses, of vaults of this namespace or of many, take the memory for them; wait; if it persists, use fewer connections with long lists in this namespace",
    ],
    [
      "a list of files that is too long",
      new ListTooLongError("list_file", "more than 16777216 bytes (--max-list-bytes)"),
      "cannot list the files of ops@example.com at https://vault.example.com: the list has more than 16777216 bytes (--max-list-bytes), and is not read; delete files of ops@example.com, or raise --max-list-bytes of the operator",
    ],
    [
      "too many requests",
      new RateLimitedError(login, 5_000),
      "the vault limits the requests of this account or network; wait; if it persists, lower spec.requestsPerSecond or raise spec.refreshInterval",
    ],
    [
      "a login page",
      new UnexpectedResponse(login, "access_token"),
      "the response is not that of a vault: access_token is missing or malformed; check that spec.url is the base URL of the vault, not that of a proxy or another service",
    ],
    [
      "a scope",
      new PermanentError(login, "invalid_scope"),
      "spec.scope: the vault rejects this scope; correct its attributes, values and names",
    ],
    [
      "a denied login",
      new PermanentError(login, "forbidden"),
      'the vault responds with the error "forbidden"; allow ops@example.com what spec.scope requests, or correct spec.scope',
    ],
  ])("%s", (_, error, message) => {
    expect(explain(error)).toBe(message);
  });

  test("a URL that no request may use has one message, whatever the request", () => {
    const operations = ["generate_access_token", "refresh_token", "list_no_dup"] as const;
    const messages = operations.map((operation) =>
      explainFailure(new RefusedError(operation, "host"), testFacts),
    );
    expect(new Set(messages).size).toBe(1);
    expect(messages[0]).toMatch(/^cannot use https:\/\/vault\.example\.com as ops@example\.com: /u);
  });

  test.each<[string, AuthError, string]>([
    [
      "access token",
      new AuthError(login, "token"),
      "the vault rejects the access_token in Secret tokens",
    ],
    [
      "refresh token",
      new AuthError(login, "refresh_token"),
      "the vault rejects the refresh_token in Secret tokens",
    ],
  ])("a stored %s that the vault rejects", (_, error, cause) => {
    expect(explain(error, { login: "tokens", credentials: "Secret tokens" })).toBe(
      `${cause}; store a new pair of tokens of ops@example.com there`,
    );
  });

  test("stored tokens of another account", () => {
    expect(
      explain(new AuthError(login, "email_mismatch"), {
        login: "tokens",
        credentials: "Secret tokens",
      }),
    ).toBe(
      "the tokens in Secret tokens belong to another account; store a new pair of tokens of ops@example.com there, or correct spec.email",
    );
  });

  test.each<[string, Error, string]>([
    [
      "an identity that the vault rejects",
      new AuthError(exchange, "identity"),
      "the vault rejects ServiceAccount vaultsync as an identity of the account; add it there with vaultsync vault identity add ops@example.com, and compare the issuer and the audience",
    ],
    [
      "a vault that knows no identities",
      new PermanentError(exchange, "not_found"),
      "the vault accepts no tokens of ServiceAccounts; start it with --identity-issuers, or use spec.auth.passwordSecretRef",
    ],
    [
      "a scope beyond the one of the identity",
      new PermanentError(exchange, "invalid_scope"),
      "spec.scope: the vault rejects this scope, or it is wider than what the identity may reach; correct its attributes, values and names",
    ],
    [
      "a token that the vault has just issued",
      new AuthError("list_no_dup", "token"),
      "cannot list the secrets of ops@example.com at https://vault.example.com: the vault rejects the token that it has just issued; check the vault, and its clock",
    ],
    [
      "too many rejected identities",
      new AuthError(login, "too_many_rejected"),
      "the token of ServiceAccount vaultsync was not sent: the vault rejected more than 8 others that this namespace stores for ops@example.com, or more than 32 of all namespaces; correct or delete those connections",
    ],
  ])("of a ServiceAccount: %s", (_, error, message) => {
    const facts = { login: "identity", credentials: "ServiceAccount vaultsync" } as const;
    expect(explain(error, facts)).toBe(message);
  });

  test("an authority that is missing in the CA bundle", () => {
    expect(
      explain(new RefusedError(login, "tls", "SELF_SIGNED_CERT_IN_CHAIN"), {
        caBundle: "ConfigMap ca, key ca.crt",
      }),
    ).toBe(
      "no trusted authority signed the certificate of vault.example.com (SELF_SIGNED_CERT_IN_CHAIN); add the certificate of its authority to ConfigMap ca, key ca.crt",
    );
  });

  test.each([
    [login, "cannot log in to https://vault.example.com as ops@example.com"],
    ["refresh_token", "cannot refresh the token of ops@example.com at https://vault.example.com"],
    ["list_no_dup", "cannot list the secrets of ops@example.com at https://vault.example.com"],
    ["list_file", "cannot list the files of ops@example.com at https://vault.example.com"],
  ] as const)("%s: the message names what was tried", (operation, tried) => {
    expect(
      explainFailure(new TransientError(operation, "timeout"), testFacts).startsWith(`${tried}: `),
    ).toBe(true);
  });
});

test("users of a ClusterVaultConnection do not see its address, account and Secret", () => {
  const error = new AuthError(login, "credentials");
  expect(explainToUser(error, testFacts, "VaultConnection")).toBe(explainFailure(error, testFacts));
  expect(explainToUser(error, testFacts, "ClusterVaultConnection")).toBe(
    "AuthFailed: see its condition Ready, or ask who manages it",
  );
});

test.each([
  ["https://169.254.169.254", "InvalidSpec"],
  ["https://[fe80::1]", "InvalidSpec"],
  ["https://localhost:8200", "InvalidSpec"],
  ["https://vault.example.com", "VaultUnreachable"],
])(
  "a forbidden address of %s is %s: InvalidSpec only where no DNS record can be wrong",
  (url, reason) => {
    expect(
      connectionProblem(new RefusedError(login, "address"), { ...testFacts, url }).reason,
    ).toBe(reason);
  },
);
