import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

const attributes = [
  "cloud_type",
  "environment_type",
  "application_type",
  "classification",
  "secret_name",
] as const;
type Attribute = (typeof attributes)[number];
type Pair = readonly [Attribute, string];

const clouds = ["aws", "gcp"];
const environments = ["dev", "a,b"];
const names = ["one", "two", "all", "*"];
/** One secret for each combination; the other two attributes keep their defaults. */
const secrets = clouds.flatMap((cloud, i) =>
  environments.map((environment, j) => ({
    name: names[2 * i + j]!,
    cloud_type: cloud,
    environment_type: environment,
  })),
);
const written: Record<Attribute, readonly string[]> = {
  cloud_type: ["*", "all", ...clouds, "%2A", "AWS"],
  environment_type: ["*", ...environments.map(encodeURIComponent), "a"],
  application_type: ["*", "container", "vm"],
  classification: ["all", "top", "to*"],
  secret_name: ["*", "all", "%61ll", "%2A", "one", "two", "%6Fne"],
};

const anyPair = fc
  .constantFrom(...attributes)
  .chain((attribute) =>
    fc.constantFrom(...written[attribute]).map((value): Pair => [attribute, value]),
  );
/** Generates any pairs. Attributes without a pair get `*`, to keep the scope valid. */
const anyScope = fc
  .array(anyPair, { maxLength: 8 })
  .map((pairs): Pair[] => [
    ...pairs,
    ...attributes
      .filter((attribute) => !pairs.some(([given]) => given === attribute))
      .map((attribute): Pair => [attribute, "*"]),
  ]);

/** Reports whether each attribute has a pair that includes the secret's value. */
function reaches(scope: readonly Pair[], secret: (typeof secrets)[number]): boolean {
  const actual = {
    ...secret,
    application_type: "container",
    classification: "top",
    secret_name: secret.name,
  };
  return attributes.every((attribute) =>
    scope.some(
      ([given, value]) =>
        given === attribute &&
        (value === "*" || value === "all" || decodeURIComponent(value) === actual[attribute]),
    ),
  );
}

let vault: TestVault;
let ann: VaultClient;
beforeAll(async () => {
  vault = await TestVault.start({ limits: { requestsPerSecond: 1e6, requestBurst: 1e6 } });
  ann = await vault.client("ann@example.com");
  for (const { name, ...metadata } of secrets)
    await ann.call("protect", { key_name: name, key_value: name, metadata });
  const grant = {
    key_name: ["two", "all"],
    permission: "RW",
    usr_id_from: ann.email,
    usr_id_to: "bob@example.com",
  };
  await ann.call("share", grant);
});
afterAll(() => vault[Symbol.asyncDispose]());

const shared = new Set(["two", "all"]);

test("a token lists, reads and changes exactly the secrets its scope includes, own or received", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyScope,
      fc.constantFrom("ann@example.com", "bob@example.com"),
      async (scope, email) => {
        const caller = await vault.client(
          email,
          scope.map(([attribute, value]) => `${attribute}:${value}`).join(","),
        );
        const visible = secrets.filter(({ name }) => email === ann.email || shared.has(name));
        const reached = visible.filter((secret) => reaches(scope, secret)).map(({ name }) => name);
        const listed = (await caller.call("list_no_dup"))
          .json()
          .secrets.map((secret: { key_name: string }) => secret.key_name);
        expect(listed).toEqual(reached.sort((a, b) => (a < b ? -1 : 1)));
        for (const { name: key_name } of visible) {
          const family = shared.has(key_name) ? "_link" : "";
          const outcomes = [
            await caller.call(family ? "expose_link" : "expose", { key_name }),
            await caller.call(family ? "version_list_for_link" : "version_list", { key_name }),
            await caller.call(family ? "version_expose_link" : "version_expose", {
              key_name,
              key_version: 1,
            }),
            await caller.call(family ? "protect_link" : "protect", {
              key_name,
              key_value: "again",
            }),
            await caller.call("update_key_metadata", {
              key_name,
              key_version: 1,
              metadata: { note: 1 },
            }),
          ].map((response) => response.outcome());
          const expected = reached.includes(key_name) ? "200" : "403 out_of_scope";
          expect(outcomes, key_name).toEqual(outcomes.map(() => expected));
        }
      },
    ),
    { numRuns: 50 },
  );
}, 180_000);
