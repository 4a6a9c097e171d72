import { expect, test } from "vitest";
import { connectionSpec } from "../api/vault-connection.ts";
import { audienceOf, factsOf } from "./connection-facts.ts";

const base = {
  url: "https://vault.example.com/",
  email: "ops@example.com",
  auth: { passwordSecretRef: { name: "login" } },
};
const facts = (more: object) => factsOf(connectionSpec.parse({ ...base, ...more }));

test("the facts of a connection name its Secret with the key, and what it trusts", () => {
  expect(facts({ caBundleRef: { kind: "ConfigMap", name: "ca" } })).toEqual({
    url: "https://vault.example.com",
    email: "ops@example.com",
    login: "password",
    credentials: "Secret login, key password",
    scope: "",
    caBundle: "ConfigMap ca, key ca.crt",
  });
  expect(facts({ auth: { tokenSecretRef: { name: "pair" } } })).toMatchObject({
    login: "tokens",
    credentials: "Secret pair",
    caBundle: undefined,
  });
  expect(facts({ auth: { serviceAccountRef: { name: "vaultsync" } } })).toMatchObject({
    login: "identity",
    credentials: "ServiceAccount vaultsync",
  });
});

const audience = (more: object): string =>
  audienceOf(
    connectionSpec.parse({ ...base, auth: { serviceAccountRef: { name: "sa", ...more } } }),
  );

test("the audience of a ServiceAccount's token is the address of the vault by default", () => {
  expect(audience({})).toBe("https://vault.example.com");
  expect(audience({ audience: "vault" })).toBe("vault");
});

test.each([
  [{ secretName: ["a", "b"] }, "secretName a, b"],
  [
    { environmentType: ["prod"], secretName: ["a", "b", "c", "d", "e"] },
    "environmentType prod; secretName a, b, c and 2 more",
  ],
  [{ environmentType: ["prod", "*"], onlyReferenced: true }, ""],
])("the scope %j is %j in a message: only what it limits, and few values", (scope, text) => {
  expect(facts({ scope }).scope).toBe(text);
});
