import { expect, test } from "vitest";
import { connectionSpec } from "../api/vault-connection.ts";
import { factsOf } from "./connection-facts.ts";

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
    usesTokens: false,
    credentials: "Secret login, key password",
    scope: "",
    caBundle: "ConfigMap ca, key ca.crt",
  });
  expect(facts({ auth: { tokenSecretRef: { name: "pair" } } })).toMatchObject({
    usesTokens: true,
    credentials: "Secret pair",
    caBundle: undefined,
  });
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
