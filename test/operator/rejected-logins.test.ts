import { expect, test } from "vitest";
import { accountOf, SimulatedWorld, passwordIn } from "../lab/simulated/simulated-world.ts";
import { clusterVaultConnectionKind, vaultConnectionKind } from "../../src/operator/api/kinds.ts";
import { CREDENTIALS_TYPE } from "../../src/operator/api/names.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";

const MINUTE = 60_000;
const shop = { namespace: "shop", name: "vault" };
const email = accountOf(shop);

/**
 * Connects the account of `shop` from another namespace, with a password of this number that is
 * wrong.
 */
function guess(scene: SimulatedWorld, namespace: string, number: number): void {
  const secret = { namespace, name: `guess-${number}` };
  const data = { password: Buffer.from(`canary-guess-${namespace}-${number}`).toString("base64") };
  scene.server.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: secret,
    type: CREDENTIALS_TYPE,
    data,
  });
  const auth = { passwordSecretRef: { name: secret.name } };
  scene.put(vaultConnectionKind, secret, {
    url: "https://vault.example.com",
    email,
    auth,
    refreshInterval: "5s",
  });
}

/**
 * Returns a running operator after nine rejected passwords of the account of `shop`, all of another
 * namespace.
 */
async function attacked(): Promise<SimulatedWorld> {
  const scene = new SimulatedWorld({ passwordIn, immediateVaults: true });
  for (const name of ["shop", "stranger"]) scene.namespace(name);
  scene.vault().setPassword(email, passwordIn("shop"));
  scene.vault().writeAs(accountOf(shop), ["db"]);
  for (let number = 0; number < 9; number += 1) guess(scene, "stranger", number);
  scene.start();
  await scene.settle(75_000);
  return scene;
}

const loginsWith = (scene: SimulatedWorld, password: string): number =>
  scene.vault().calls.filter((call) => call.password === password).length;

test("nine rejected passwords of one namespace do not delay the login of another one", async () => {
  await using scene = await attacked();
  scene.connectAccount(shop);
  scene.follow({ password: "db" }, { connection: shop });
  await scene.settle();
  expect(scene.outcome()).toBe(`password=${email} db 1, Synced`);
});

test("a password that is not sent, because others were rejected, is not called rejected", async () => {
  await using scene = await attacked();
  guess(scene, "stranger", 9);
  await scene.settle();
  expect(loginsWith(scene, "canary-guess-stranger-9")).toBe(0);
  const { message } =
    scene.conditionOf(vaultConnectionKind, { namespace: "stranger", name: "guess-9" }) ?? {};
  expect(message).toContain(
    `the password in Secret guess-9, key password was not sent: the vault rejected more than 8 others that this namespace stores for ${email}`,
  );
  expect(message).toMatch(
    /correct or delete those connections\. The next login is at [0-9T:.-]+Z$/,
  );
});

test("the namespace of an attack logs in again an hour after its last rejected password", async () => {
  await using scene = await attacked();
  for (let number = 0; number < 9; number += 1)
    scene.server.delete(vaultConnectionKind, { namespace: "stranger", name: `guess-${number}` });
  scene.vault().setPassword(email, "canary-guess-stranger-9");
  guess(scene, "stranger", 9);
  await scene.settle(58 * MINUTE);
  expect(loginsWith(scene, "canary-guess-stranger-9")).toBe(0);
  await scene.settle(5 * MINUTE);
  expect(
    scene.conditionOf(vaultConnectionKind, { namespace: "stranger", name: "guess-9" })?.status,
  ).toBe("True");
});

test("connections of the cluster are paused neither by a namespace nor by each other", async () => {
  await using scene = await attacked();
  const access = [{ namespaceSelector: { matchLabels: {} }, secrets: ["*"] }];
  scene.vault().setPassword(email, passwordIn("vaultsync-system"));
  scene.put(
    clusterVaultConnectionKind,
    { name: "stranger" },
    {
      url: "https://vault.example.com",
      email,
      auth: { passwordSecretRef: { name: "login" } },
      access,
    },
  );
  await scene.settle();
  expect(scene.conditionOf(clusterVaultConnectionKind, { name: "stranger" })?.status).toBe("True");
});
