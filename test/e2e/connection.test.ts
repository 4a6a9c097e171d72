import { afterAll, beforeAll, expect, test } from "vitest";
import { ACCOUNT, bytesOf, condition, vaultSecret, World } from "./support/world.ts";

/** What a VaultConnection says when it can't be used, and that it goes on once that is put right. */
let world: World;
beforeAll(async () => {
  world = await World.create();
  await world.startOperator();
  // Its log-in is over, and not counted below.
  await world.ready("VaultConnection", "vault");
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

function connection(name: string, secret: string, more: object = {}): object {
  return {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultConnection",
    metadata: { name },
    spec: { url: world.vault.url, email: ACCOUNT, auth: { passwordSecretRef: { name: secret } }, refreshInterval: "5s", ...more },
  };
}

function login(name: string, password: string, more: { type?: string; annotations?: object } = {}): object {
  const { type = "vaultsync.dev/credentials", annotations = {} } = more;
  return { apiVersion: "v1", kind: "Secret", metadata: { name, annotations }, type, stringData: { password } };
}

const password = (): string => world.vault.passwords.get(ACCOUNT) ?? "";

/** Waits for the reason, and gives the message beside it. */
async function saidAs(reason: string, name: string): Promise<string> {
  const object = await world.until("VaultConnection", name, (one) => condition(one, "Ready")?.reason === reason);
  expect(condition(object, "Ready")?.status).toBe("False");
  return condition(object, "Ready")?.message ?? "";
}

test("a Secret of another type is not sent anywhere, and the message says how to make the right one", async () => {
  const before = await logIns();
  await world.apply(login("opaque", password(), { type: "Opaque" }), connection("opaque", "opaque"));
  expect(await saidAs("AuthFailed", "opaque")).toContain(
    `kubectl create secret generic NAME -n ${world.namespace} --type=vaultsync.dev/credentials`,
  );
  expect(await logIns()).toBe(before);
});

test("a missing Secret is said to be missing, and is used as soon as it is there", async () => {
  await world.apply(connection("late", "late"));
  expect(await saidAs("AuthFailed", "late")).toContain(
    "Secret late not found: create it with kubectl create secret generic late",
  );
  await world.apply(login("late", password()));
  await world.until("VaultConnection", "late", (one) => condition(one, "Ready")?.status === "True");
});

test("a Secret bound to other hosts is not sent to this one", async () => {
  const annotations = { "vaultsync.dev/hosts": "vault.example.com" };
  const before = await logIns();
  await world.apply(login("bound", password(), { annotations }), connection("bound", "bound"));
  expect(await saidAs("AuthFailed", "bound")).toContain("does not allow the host 127.0.0.1");
  expect(await logIns()).toBe(before);
  await world.apply(login("bound", password(), { annotations: { "vaultsync.dev/hosts": "vault.example.com, 127.0.0.1" } }));
  await world.until("VaultConnection", "bound", (one) => condition(one, "Ready")?.status === "True");
});

test("a wrong password is tried once, not again and again, and a changed Secret at once", async () => {
  await world.apply(login("wrong", world.canaries.text("wrong password")), connection("wrong", "wrong"));
  await saidAs("AuthFailed", "wrong");
  const resource = await world.until("VaultConnection", "wrong", (one) => condition(one, "Stalled")?.status === "True");
  expect(condition(resource, "Stalled")?.reason).toBe("AuthFailed");
  const refused = await refusedLogIns();
  expect(refused).toBe(1);
  // Two intervals later it is still one: the vault must never lock the account because of us.
  await world.protect("two-intervals", "1");
  await world.apply(vaultSecret("two-intervals", { password: "two-intervals" }));
  await world.ready("VaultSecret", "two-intervals");
  await world.protect("two-intervals", "2");
  await world.until("Secret", "two-intervals", (secret) => bytesOf(secret, "password")?.toString() === "2");
  expect(await refusedLogIns()).toBe(refused);
  await world.apply(login("wrong", password()));
  await world.until("VaultConnection", "wrong", (one) => condition(one, "Ready")?.status === "True");
});

test("a resource says which connection it misses, and goes on when it comes", async () => {
  await world.protect("orphan", world.canaries.text("orphan"));
  const resource = vaultSecret("orphan", { password: "orphan" });
  await world.apply({ ...resource, spec: { ...(resource as { spec: object }).spec, connectionRef: { name: "coming" } } });
  const missing = await world.until("VaultSecret", "orphan", (one) => condition(one, "Ready")?.reason === "ConnectionNotFound");
  expect(condition(missing, "Ready")?.message).toContain("VaultConnection coming not found");
  await world.apply(login("coming", password()), connection("coming", "coming"));
  await world.ready("VaultSecret", "orphan");
  const counted = await world.until(
    "VaultConnection",
    "coming",
    ({ status }) => status?.["users"] === 1 && status["secrets"] !== undefined,
  );
  expect(counted.status?.["secrets"]).toBeGreaterThan(0);
});

test("a connection limited by its scope lists and reads only what is within it", async () => {
  await world.protect("in-scope", world.canaries.text("in scope"), { metadata: { environment_type: "prod" } });
  await world.apply(login("scoped", password()), connection("scoped", "scoped", { scope: { environmentType: ["prod"] } }));
  const scoped = await world.until("VaultConnection", "scoped", (one) => condition(one, "Ready")?.status === "True");
  expect(scoped.status?.["secrets"]).toBe(1);
  expect(JSON.stringify(scoped.status)).toContain("environment_type:prod");
});

test("no password or token is found in anything the operator has written for people", async () => {
  const writings = await world.writings();
  expect(world.canaries.tracesIn(writings)).toEqual([]);
  for (const [place, text] of Object.entries(writings)) expect(text.includes(password()), place).toBe(false);
});

const logIns = (): Promise<number> =>
  world.vault.metric('vaultsync_vault_requests_total{operation="generate_access_token",status="200"}');
const refusedLogIns = (): Promise<number> =>
  world.vault.metric('vaultsync_vault_requests_total{operation="generate_access_token",status="401"}');
