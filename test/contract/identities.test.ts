import { expect, onTestFinished, test } from "vitest";
import { CONSUMER } from "../lab/vault/secret-record.ts";
import { InMemoryKubeApi } from "../lab/kube/in-memory-kube-api.ts";
import { Redacted } from "../../src/lib/redacted.ts";
import type { TokenRequest } from "../../src/operator/kube/client/kube-api.ts";
import { credentialSource } from "../../src/operator/controllers/connection/credential-source.ts";
import { AuthError, PermanentError } from "../../src/operator/vault-client/vault-error.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { IdentityVault, serviceAccount, TestIssuer } from "../lab/vault/identity-vault.ts";
import { listSoon } from "../lab/vault/scripted-vault.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString } from "../lab/vault/vault-client.ts";
import {
  observeConnection,
  type ObservedConnection,
  type ObserveOptions,
  referencesTo,
  untilHealthy,
} from "../lab/vault/vault-connection.ts";

const email = "ann@example.com";
const AUDIENCE = "https://vault.example.com";
const SHOP = serviceAccount("shop");
const HOUR = 3_600_000;
const signal = new AbortController().signal;
const directory = new TestDirectory();

/** An API server that issues the tokens of ServiceAccounts with the keys of an issuer. */
class IssuingApi extends InMemoryKubeApi {
  readonly #issuer: TestIssuer;

  constructor(issuer: TestIssuer) {
    super();
    this.#issuer = issuer;
  }

  override async requestToken(
    { namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string },
    { audience }: TokenRequest,
  ): Promise<Redacted<string>> {
    const claims = { aud: [audience] };
    const subject = serviceAccount(namespace, name);
    return new Redacted(await this.#issuer.token(subject, { now: Date.now(), claims }));
  }
}

/** Connects as the ServiceAccount `shop/vaultsync`. */
function connect(
  url: string,
  issuer: TestIssuer,
  options: Partial<ObserveOptions> = {},
): ObservedConnection {
  const auth = { serviceAccountRef: { name: "vaultsync", audience: AUDIENCE } };
  const credentials = credentialSource(
    { url, email, auth },
    { api: new IssuingApi(issuer), namespace: "shop", audiences: [AUDIENCE], fingerprint: "1" },
  );
  return observeConnection({
    url,
    email,
    credentials,
    references: referencesTo(["shop-db"]),
    ...options,
  });
}

async function start(): Promise<IdentityVault> {
  const world = await IdentityVault.start(directory);
  onTestFinished(() => world[Symbol.asyncDispose]());
  return world;
}

const failing = async ({ connection }: ObservedConnection): Promise<Error | undefined> => {
  await expect.poll(() => connection.health.state).toBe("failing");
  return connection.health.error;
};

test("the operator logs in with a ServiceAccount, reads, and logs in again in time", async () => {
  const world = await start();
  const { vault, issuer } = world;
  await world.add(SHOP, email);
  const ann = await vault.client(email);
  await ann.call("protect", { key_name: "shop-db", key_value: "v1" });
  const observed = await untilHealthy(connect(vault.url, issuer));
  const [record] = observed.connection.snapshot!.secrets("shop-db");
  const { bytes } = await observed.connection.reader(record!, CONSUMER)(1, signal);
  expect(Buffer.from(bytes.reveal()).toString()).toBe("v1");
  expect(observed.requests).toContain("exchange_identity_token ok");
  await observed.clock.advance(18 * HOUR);
  await listSoon(observed);
  const logins = () => observed.requests.filter((one) => one === "exchange_identity_token ok");
  await expect.poll(() => logins().length).toBe(2);
  expect(observed.requests.join()).not.toContain("refresh_token");
});

test("a scope that the identity may not reach is an invalid scope, not a rejected login", async () => {
  const world = await start();
  await world.add(SHOP, email, scopeString({ secret_name: ["other"] }));
  const scope = {
    cloud_type: "*",
    environment_type: "*",
    application_type: "*",
    classification: "*",
    secret_name: new Set(["shop-db"]),
  } as const;
  const error = await failing(connect(world.vault.url, world.issuer, { scope }));
  expect(error).toMatchObject({ kind: "permanent", code: "invalid_scope" });
});

test("an unknown identity is a rejected login that is paused", async () => {
  const { vault, issuer } = await start();
  const observed = connect(vault.url, issuer);
  expect(await failing(observed)).toBeInstanceOf(AuthError);
  expect(observed.connection.health.error).toMatchObject({ code: "identity" });
  expect(observed.connection.loginPause?.until).toBe(observed.clock.now() + 60_000);
});

test("a removed identity ends the tokens of the operator, and is a rejected login", async () => {
  const world = await start();
  await world.add(SHOP, email);
  const observed = await untilHealthy(connect(world.vault.url, world.issuer));
  await world.remove(SHOP);
  await observed.clock.advance(60_000);
  expect(await failing(observed)).toMatchObject({ kind: "auth", code: "identity" });
});

test("a server that trusts no issuer is a vault without this operation", async () => {
  const vault = await TestVault.start();
  onTestFinished(() => vault[Symbol.asyncDispose]());
  const error = await failing(connect(vault.url, await TestIssuer.create()));
  expect(error).toBeInstanceOf(PermanentError);
  expect(error).toMatchObject({ operation: "exchange_identity_token", code: "not_found" });
});
