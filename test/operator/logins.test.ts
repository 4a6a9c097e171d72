import { describe, expect, test } from "vitest";
import { accountOf, passwordIn, SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { clusterVaultConnectionKind, vaultConnectionKind } from "../../src/operator/api/kinds.ts";
import { CREDENTIALS_TYPE } from "../../src/operator/api/names.ts";
import { type ObjectRef, SECRETS, SERVICE_ACCOUNTS } from "../../src/operator/kube/resource.ts";
import { unlimitedScope } from "../../src/protocol/scope.ts";
import { TOKEN_PREFIX } from "../lab/simulated/api-server/service-account-tokens.ts";
import { OPERATOR_NAMESPACE, SHOP } from "../lab/simulated/simulated-operator.ts";
import { ACCOUNT } from "../lab/simulated/simulated-vault.ts";

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

const HOUR = 60 * MINUTE;
const SUBJECT = "system:serviceaccount:shop:vaultsync";

const addAccount = ({ server }: SimulatedWorld, namespace = SHOP): object =>
  server.create(SERVICE_ACCOUNTS, {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { namespace, name: "vaultsync" },
  });

/** Connects as a ServiceAccount of the namespace `shop`. */
const connect = (scene: SimulatedWorld, changes: object = {}, name = "vault"): void =>
  scene.connection(
    { namespace: SHOP, name },
    { auth: { serviceAccountRef: { name: "vaultsync", ...changes } } },
  );

/** A running operator, the ServiceAccount `shop/vaultsync`, and its identity at the vault. */
async function started({ exists = true, known = true } = {}): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop("db");
  if (exists) addAccount(scene);
  if (known) scene.vault().setIdentity(SUBJECT, ACCOUNT);
  connect(scene);
  scene.follow({ password: "db" });
  await scene.settle();
  return scene;
}

const SYNCED = "password=vault db@1, Synced";
const ready = (scene: SimulatedWorld, ref: ObjectRef = { namespace: SHOP, name: "vault" }) =>
  scene.conditionOf(
    ref.namespace === undefined ? clusterVaultConnectionKind : vaultConnectionKind,
    ref,
  );
const exchanges = (scene: SimulatedWorld): number =>
  scene.vault().calls.filter(({ operation }) => operation === "exchange_identity_token").length;
const requested = (scene: SimulatedWorld): number =>
  scene.requests.filter((request) => request.includes("serviceaccounts/token")).length;

describe("a connection with a ServiceAccount", () => {
  test("logs in without a Secret, and again before its token ends", async () => {
    await using scene = await started();
    expect(scene.outcome()).toBe(SYNCED);
    expect(exchanges(scene)).toBe(1);
    await scene.settle(24 * HOUR);
    expect([exchanges(scene), requested(scene)]).toEqual([2, 2]);
    expect(scene.vault().calls.map(({ operation }) => operation)).not.toContain("refresh_token");
    expect(ready(scene)?.reason).toBe("Synced");
  });

  test("reads what the vault lets the identity reach", async () => {
    await using scene = await started({ known: false });
    const scope = { ...unlimitedScope, secret_name: new Set(["other"]) };
    scene.vault().setIdentity(SUBJECT, ACCOUNT, scope);
    connect(scene, { audience: "https://vault.example.com" });
    await scene.settle();
    expect([ready(scene)?.reason, scene.outcome()]).toEqual(["Synced", "absent, SourceMissing"]);
  });

  test("never shows its tokens", async () => {
    await using scene = await started();
    scene.vault().setIdentity(SUBJECT, undefined);
    scene.vault().revoke(ACCOUNT, { refresh: true });
    await scene.settle(HOUR);
    const seen = JSON.stringify([
      scene.log,
      scene.events,
      scene.server.collections.map(({ objects }) => [...objects.values()]),
    ]);
    expect(seen).toContain("vault identity add");
    expect(seen).not.toContain(TOKEN_PREFIX);
  });

  test("waits for a ServiceAccount that does not exist, and uses it within five minutes", async () => {
    await using scene = await started({ exists: false });
    expect(ready(scene)).toMatchObject({ status: "False", reason: "CredentialsMissing" });
    expect(ready(scene)?.message).toContain("kubectl create serviceaccount vaultsync -n shop");
    expect(scene.connectionCondition("Stalled")).toBeUndefined();
    addAccount(scene);
    await scene.settle(5 * MINUTE);
    expect(scene.outcome()).toBe(SYNCED);
  });

  test("names the permission that the operator lacks", async () => {
    await using scene = await SimulatedWorld.shop("db");
    addAccount(scene);
    scene.server.authorize = ({ subresource }) => subresource !== "token";
    connect(scene);
    await scene.settle();
    expect(ready(scene)?.reason).toBe("AuthFailed");
    expect(ready(scene)?.message).toContain(
      "permission denied: create serviceaccounts/token shop/vaultsync; add vaultsync to the value serviceAccountLogins",
    );
    expect(exchanges(scene)).toBe(0);
  });

  test("keeps its targets when the ServiceAccount is deleted, and fails when its token ends", async () => {
    await using scene = await started();
    scene.server.delete(SERVICE_ACCOUNTS, { namespace: SHOP, name: "vaultsync" });
    await scene.settle(23 * HOUR);
    expect(ready(scene)?.reason).toBe("Synced");
    await scene.settle(2 * HOUR);
    expect(ready(scene)?.reason).toBe("CredentialsMissing");
    expect(scene.connectionCondition("Stalled")?.reason).toBe("CredentialsMissing");
    expect(scene.value(SHOP, "db") ?? scene.outcome()).toContain("vault db@1");
  });
});

describe("an identity that the vault rejects", () => {
  test("is tried again after 1, 5, 15 and 60 minutes, and after a change of the spec", async () => {
    await using scene = await started({ known: false });
    expect(ready(scene)?.reason).toBe("AuthFailed");
    expect(ready(scene)?.message).toMatch(
      /the vault rejects ServiceAccount vaultsync as an identity.* or immediately after a change of spec$/,
    );
    await scene.settle(21 * MINUTE);
    expect([exchanges(scene), requested(scene)]).toEqual([4, 4]);
    scene.vault().setIdentity(SUBJECT, ACCOUNT);
    await scene.settle(MINUTE);
    expect(exchanges(scene)).toBe(4);
    scene.connection(
      { namespace: SHOP, name: "vault" },
      { auth: { serviceAccountRef: { name: "vaultsync" } }, tokenLifetime: "8h" },
    );
    await scene.settle();
    expect(scene.outcome()).toBe(SYNCED);
  });

  test("pauses neither a password of the account nor another connection", async () => {
    await using scene = await started({ known: false });
    connect(scene, { audience: "https://vault.example.com/other" }, "second");
    scene.connection({ namespace: SHOP, name: "third" });
    await scene.settle();
    const names = ["vault", "second", "third"];
    const reasons = () => names.map((name) => ready(scene, { namespace: SHOP, name })?.reason);
    expect(reasons()).toEqual(["AuthFailed", "AuthFailed", "Synced"]);
    expect(exchanges(scene)).toBe(2);
  });

  test("stays paused when the operator restarts", async () => {
    await using scene = await started({ known: false });
    await scene.settle(7 * MINUTE);
    const before = exchanges(scene);
    await scene.replace();
    await scene.settle(MINUTE);
    expect(exchanges(scene)).toBe(before);
    expect(ready(scene)?.reason).toBe("AuthFailed");
  });
});

test("a token for another service is neither requested nor sent", async () => {
  await using scene = await started();
  const before = requested(scene);
  connect(scene, { audience: "https://kubernetes.default.svc" });
  await scene.settle(10 * MINUTE);
  expect(ready(scene)?.reason).toBe("AuthFailed");
  expect(ready(scene)?.message).toContain("--token-audiences");
  expect(requested(scene)).toBe(before);
});

test("a vault without this operation is named as the cause", async () => {
  await using scene = await SimulatedWorld.shop("db");
  addAccount(scene);
  scene.vault().audience = undefined;
  connect(scene);
  await scene.settle();
  expect(ready(scene)).toMatchObject({ status: "False", reason: "AuthFailed" });
  expect(ready(scene)?.message).toContain("start it with --identity-issuers");
});

test("a ClusterVaultConnection uses a ServiceAccount of the operator's namespace only", async () => {
  await using scene = await SimulatedWorld.shop("db");
  addAccount(scene);
  scene.vault().setIdentity(SUBJECT, ACCOUNT);
  const access = [{ namespaceSelector: { matchLabels: {} }, secrets: ["*"] }];
  const auth = { serviceAccountRef: { name: "vaultsync" } };
  scene.connection({ name: "corporate" }, { auth, access }, clusterVaultConnectionKind);
  await scene.settle();
  expect(ready(scene, { name: "corporate" })?.reason).toBe("CredentialsMissing");
  addAccount(scene, OPERATOR_NAMESPACE);
  scene.vault().setIdentity(`system:serviceaccount:${OPERATOR_NAMESPACE}:vaultsync`, ACCOUNT);
  scene.follow({ password: "db" }, { connection: { name: "corporate" } });
  await scene.settle(5 * MINUTE);
  expect(scene.outcome()).toBe(SYNCED);
});
