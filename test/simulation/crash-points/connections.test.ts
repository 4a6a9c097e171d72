import { vaultConnectionKind } from "../../../src/operator/api/kinds.ts";
import { CONFIG_MAPS } from "../../../src/operator/kube/resource.ts";
import { unlimitedScope, formatScope } from "../../../src/protocol/scope.ts";
import { certificate } from "../../lab/certificates.ts";
import { connect, type Scenario, sync, synced } from "./scenario.ts";
import { testScenarios } from "./test-scenarios.ts";
import { ACCOUNT, PASSWORD, VAULT_URL, type World } from "./world.ts";

const AUTHORITIES = ["one", "two"].map((name) => certificate(name).cert.trim());

function trust(world: World, ca: string): void {
  world.authority = ca;
  world.edit(CONFIG_MAPS, "authorities", (map) => ({ ...map, data: { "ca.crt": ca } }));
}

/**
 * Logs in as a user, stores the pair, and reports every use of a token that was not stored before.
 */
function storeTokens(world: World): void {
  const body = {
    email: ACCOUNT,
    password: PASSWORD,
    scope: formatScope(unlimitedScope),
    expiration_hours: 1,
  };
  const response = world.vault.respond({ operation: "generate_access_token", body });
  const { access_token, refresh_token } = JSON.parse(
    Buffer.from(response.body).toString(),
  ) as Record<string, string>;
  const stored = new Set<string>();
  world.server.onCommit(({ after }) => {
    const { access_token: token } = (
      after?.metadata.name === "tokens" ? after["data"] : {}
    ) as Record<string, string>;
    if (token !== undefined) stored.add(Buffer.from(token, "base64").toString());
  });
  world.onToken = (token) => {
    if (!stored.has(token)) world.violations.push("a token was used before it was stored");
  };
  world.putCredentials("tokens", { access_token: access_token!, refresh_token: refresh_token! });
}

const connections: readonly Scenario[] = [
  {
    name: "another URL",
    setUp: synced("password"),
    acts: [
      {
        act: (world) => (
          connect(world, { url: "https://other.example.com" }),
          world.write("password")
        ),
      },
    ],
  },
  {
    name: "another account",
    setUp: (world) => (
      world.vault.setPassword("other@example.com", PASSWORD),
      synced("password")(world)
    ),
    acts: [
      {
        act: (world) => {
          world.writeSecret("password", undefined, "other@example.com");
          connect(world, { email: "other@example.com" });
        },
      },
    ],
  },
  {
    name: "deletion and return of the connection",
    setUp: synced("password"),
    acts: [
      { act: (world) => world.remove(vaultConnectionKind, "vault") },
      { atMs: 3_000, act: (world) => (world.write("password"), connect(world)) },
    ],
  },
  {
    name: "another password",
    setUp: synced("password"),
    acts: [
      {
        act: (world) => {
          world.vault.setPassword(ACCOUNT, `${PASSWORD}-2`);
          world.putCredentials("login", { password: `${PASSWORD}-2` });
          world.vault.revoke(ACCOUNT, { refresh: true });
        },
      },
      { atMs: 3_000, act: (world) => world.write("password") },
    ],
  },
  {
    name: "a refresh after a revocation",
    setUp: synced("password"),
    acts: [
      {
        act: (world) => (world.vault.revoke(ACCOUNT, { refresh: false }), world.write("password")),
      },
    ],
  },
  {
    name: "a refresh when it is due",
    setUp: (world) => (
      synced("password")(world),
      connect(world, { tokenLifetime: "1h", follow: "Interval", refreshInterval: "2m" })
    ),
    warmUpMs: 35 * 60_000,
    recordMs: 12 * 60_000,
  },
  {
    name: "certificates of another authority",
    setUp: (world) => {
      trust(world, AUTHORITIES[0]!);
      synced("password")(world);
      connect(world, { caBundleRef: { kind: "ConfigMap", name: "authorities" } });
    },
    acts: [
      { act: (world) => trust(world, AUTHORITIES[1]!) },
      { atMs: 1_000, act: (world) => world.write("password") },
    ],
    recordMs: 130_000,
  },
  {
    name: "a new name in a scope of referenced names",
    setUp: (world) => (
      world.write("host"),
      synced("password")(world),
      connect(world, { scope: { onlyReferenced: true } })
    ),
    acts: [{ act: (world) => sync(world, ["password", "host"]) }],
  },
  {
    name: "stored tokens that are refreshed",
    setUp: (world) => {
      world.write("password");
      storeTokens(world);
      const auth = { tokenSecretRef: { name: "tokens" } };
      const pace = { follow: "Interval", refreshInterval: "2m" };
      world.put("VaultConnection", "vault", { url: VAULT_URL, email: ACCOUNT, auth, ...pace });
      sync(world, ["password"]);
    },
    // The stored access token is valid for an hour.
    warmUpMs: 3_590_000,
    acts: [{ atMs: 15_000, act: (world) => world.write("password") }],
    recordMs: 140_000,
  },
];

testScenarios(connections);
