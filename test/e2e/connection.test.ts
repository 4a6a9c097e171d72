import { beforeAll, expect, test } from "vitest";
import { ACCOUNT, World } from "../lab/real/world.ts";
import { condition, vaultSecret } from "../lab/real/resources.ts";

/**
 * Conditions of a VaultConnection that cannot be used, and its recovery once the cause is fixed.
 */
const world = await World.ofFile();
beforeAll(async () => {
  await world.startOperator();
  // The login of this connection is complete and not counted below.
  await world.ready("VaultConnection", "vault");
});

const connection = (name: string, secret: string, more: object = {}): object =>
  world.anotherConnection(name, { auth: { passwordSecretRef: { name: secret } }, ...more });

function login(
  name: string,
  password: string,
  more: { type?: string; annotations?: object } = {},
): object {
  const { type = "vaultsync.dev/credentials", annotations = {} } = more;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, annotations },
    type,
    stringData: { password },
  };
}

const password = (): string => world.vault.passwords.get(ACCOUNT) ?? "";

/** Waits for Ready=False with the reason, and returns the message. */
async function notReadyMessage(reason: string, name: string): Promise<string> {
  const object = await world.untilReason("VaultConnection", name, reason);
  expect(condition(object, "Ready")?.status).toBe("False");
  return condition(object, "Ready")?.message ?? "";
}

test("a Secret of another type is not sent to the vault, and the message has the remedy", async () => {
  const before = await logins();
  await world.apply(
    login("opaque", password(), { type: "Opaque" }),
    connection("opaque", "opaque"),
  );
  expect(await notReadyMessage("AuthFailed", "opaque")).toContain(
    `kubectl create secret generic opaque-credentials -n ${world.namespace} --type=vaultsync.dev/credentials`,
  );
  expect(await logins()).toBe(before);
});

test("a missing credentials Secret is reported and used as soon as it exists", async () => {
  await world.apply(connection("late", "late"));
  expect(await notReadyMessage("CredentialsMissing", "late")).toContain(
    "Secret late not found: create it with kubectl create secret generic late",
  );
  await world.apply(login("late", password()));
  await world.until("VaultConnection", "late", (one) => condition(one, "Ready")?.status === "True");
});

test("a Secret limited to other hosts is not sent to the vault", async () => {
  const annotations = { "vaultsync.dev/hosts": "vault.example.com" };
  const before = await logins();
  await world.apply(login("bound", password(), { annotations }), connection("bound", "bound"));
  expect(await notReadyMessage("AuthFailed", "bound")).toContain(
    "does not allow the host 127.0.0.1",
  );
  expect(await logins()).toBe(before);
  await world.apply(
    login("bound", password(), {
      annotations: { "vaultsync.dev/hosts": "vault.example.com, 127.0.0.1" },
    }),
  );
  await world.until(
    "VaultConnection",
    "bound",
    (one) => condition(one, "Ready")?.status === "True",
  );
});

test("a wrong password is tried once, and a changed Secret immediately", async () => {
  await world.apply(
    login("wrong", world.canaries.text("wrong password")),
    connection("wrong", "wrong"),
  );
  await notReadyMessage("AuthFailed", "wrong");
  const resource = await world.until(
    "VaultConnection",
    "wrong",
    (one) => condition(one, "Stalled")?.status === "True",
  );
  expect(condition(resource, "Stalled")?.reason).toBe("AuthFailed");
  const rejected = await rejectedLogins();
  expect(rejected).toBe(1);
  // Two intervals later it is still one: the operator must never cause the vault to lock the
  // account.
  await world.protect("two-intervals", "1");
  await world.apply(vaultSecret("two-intervals", { password: "two-intervals" }));
  await world.ready("VaultSecret", "two-intervals");
  await world.protect("two-intervals", "2");
  await world.has("two-intervals", "password", "2");
  expect(await rejectedLogins()).toBe(rejected);
  await world.apply(login("wrong", password()));
  await world.until(
    "VaultConnection",
    "wrong",
    (one) => condition(one, "Ready")?.status === "True",
  );
});

test("a resource reports a missing connection and syncs once it exists", async () => {
  await world.protect("orphan", world.canaries.text("orphan"));
  const resource = vaultSecret("orphan", { password: "orphan" });
  await world.apply({
    ...resource,
    spec: { ...(resource as { spec: object }).spec, connectionRef: { name: "coming" } },
  });
  const missing = await world.untilReason("VaultSecret", "orphan", "ConnectionNotFound");
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

test("a connection with a scope lists and reads only entries within it", async () => {
  await world.protect("in-scope", world.canaries.text("in scope"), {
    metadata: { environment_type: "prod" },
  });
  await world.apply(
    login("scoped", password()),
    connection("scoped", "scoped", { scope: { environmentType: ["prod"] } }),
  );
  const scoped = await world.until(
    "VaultConnection",
    "scoped",
    (one) => condition(one, "Ready")?.status === "True",
  );
  expect(scoped.status?.["secrets"]).toBe(1);
  expect(JSON.stringify(scoped.status)).toContain("environment_type:prod");
});

test("no password or token appears in logs, events, statuses, annotations or metrics", async () => {
  const output = await world.operatorOutput();
  expect(world.canaries.tracesIn(output)).toEqual([]);
  for (const [place, text] of Object.entries(output))
    expect(text.includes(password()), place).toBe(false);
});

const logins = (): Promise<number> =>
  world.vault.metric(
    'vaultsync_vault_requests_total{operation="generate_access_token",status="200"}',
  );
const rejectedLogins = (): Promise<number> =>
  world.vault.metric(
    'vaultsync_vault_requests_total{operation="generate_access_token",status="401"}',
  );
