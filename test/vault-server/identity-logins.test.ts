import { expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { IdentityVault, OTHER_ISSUER, serviceAccount } from "../lab/vault/identity-vault.ts";
import { scopeString, VaultClient } from "../lab/vault/vault-client.ts";
import { WebSession } from "../lab/vault/web-session.ts";

const ANN = "ann@example.com";
const SHOP = serviceAccount("shop");
const directory = new TestDirectory();

test("removing an identity leaves logins of an equal subject, and tokens of its name", async () => {
  await using identities = await IdentityVault.start(directory);
  const { vault, issuer } = identities;
  await identities.add(SHOP, ANN);
  await identities.add(SHOP, ANN, scopeString(), OTHER_ISSUER);
  const exchange = async (claims: { iss?: string } = {}) => {
    const identity_token = await issuer.token(SHOP, { now: Date.now(), claims });
    const body = { email: ANN, identity_token, expiration_hours: 1 };
    return (await vault.post(operationPath.exchange_identity_token, body)).json();
  };
  const [own, other] = [await exchange(), await exchange({ iss: OTHER_ISSUER })];
  const refreshed = await vault.post(operationPath.refresh_token, {
    refresh_token: own.refresh_token,
    used_access_token: own.access_token,
  });
  const session = await WebSession.logIn(vault, ANN);
  const password = vault.passwords.get(ANN);
  const named = await session.app("app_api_token", { password, name: SHOP });
  await identities.remove(SHOP);
  const outcomes = [];
  for (const { access_token: token } of [own, refreshed.json(), other, named.json()])
    outcomes.push((await new VaultClient(vault.url, ANN, { token }).call("list_no_dup")).outcome());
  expect(outcomes).toEqual(["401 invalid_token", "401 invalid_token", "200", "200"]);
});
