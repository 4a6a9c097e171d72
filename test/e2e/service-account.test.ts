import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { bytesOf, condition, secretThrough } from "../lab/real/resources.ts";
import { ACCOUNT, SERVICE_ACCOUNT, World } from "../lab/real/world.ts";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { createVaultData } from "../lab/vault/vault-data.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";

/** A login with the token of a ServiceAccount, as the API server issues it. */
const AUDIENCE = "https://vault.example.com";
const discovery = z.object({ issuer: z.string() });

const directory = await mkdtemp(join(tmpdir(), "vaultsync-e2e-"));
const plane = await sharedControlPlane();
const raw = (path: string): Promise<string> => plane.kubectlOutput(["get", "--raw", path]);
const { issuer } = discovery.parse(JSON.parse(await raw("/.well-known/openid-configuration")));
const keys = join(directory, "keys.json");
await writeFile(keys, await raw("/openid/v1/jwks"));
const data = await createVaultData();
const masterKey = generateMasterKey();
const vault = await TestVault.start({
  emails: [ACCOUNT],
  data: data.location,
  masterKey,
  identities: { issuers: [{ issuer, keys }], audiences: [AUDIENCE] },
});
afterAll(async () => {
  await vault[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});
const world = await World.ofFile({ vault });
beforeAll(async () => {
  await world.startOperator(["--no-leader-elect", "--token-audiences", AUDIENCE]);
});

const connection = (more: object = {}) =>
  world.anotherConnection("workload", {
    auth: { serviceAccountRef: { name: "vaultsync", audience: AUDIENCE } },
    ...more,
  });

const ready = async (isExpected: (reason: string, message: string) => boolean) => {
  const object = await world.until("VaultConnection", "workload", (one) => {
    const { reason = "", message = "" } = condition(one, "Ready") ?? {};
    return isExpected(reason, message);
  });
  return condition(object, "Ready")?.message ?? "";
};

/** The permission of deploy/components/service-account-logins, in the namespace of the world. */
const permission = (): object[] => {
  const metadata = { name: "logins", namespace: world.namespace };
  const rbac = "rbac.authorization.k8s.io";
  const rule = {
    apiGroups: [""],
    resources: ["serviceaccounts/token"],
    resourceNames: ["vaultsync"],
    verbs: ["create"],
  };
  const { serviceAccount: name, namespace } = SERVICE_ACCOUNT;
  return [
    { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules: [rule] },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: rbac, kind: "Role", name: "logins" },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
  ];
};

test("a ServiceAccount logs in after permission, account and identity exist", async () => {
  await world.apply(connection());
  expect(await ready((reason) => reason === "AuthFailed")).toContain(
    `permission denied: create serviceaccounts/token ${world.namespace}/vaultsync`,
  );
  await plane.apply(permission());
  await world.apply(connection({ timeout: "11s" }));
  expect(await ready((reason) => reason === "CredentialsMissing")).toContain(
    `kubectl create serviceaccount vaultsync -n ${world.namespace}`,
  );
  await world.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "vaultsync" } });
  await ready((_, message) => message.includes("vaultsync vault identity add"));
  const added = await VaultsyncProcess.run(
    [
      "vault",
      "identity",
      "add",
      ACCOUNT,
      "--issuer",
      issuer,
      "--service-account",
      `${world.namespace}/vaultsync`,
    ],
    {
      env: {
        VAULTSYNC_VAULT_DATA: data.location,
        VAULTSYNC_VAULT_MASTER_KEY: Buffer.from(masterKey.reveal()).toString("base64"),
      },
    },
  );
  expect(added).toMatchObject({ code: 0 });
  await world.apply(connection({ timeout: "12s" }));
  await ready((reason) => reason === "Synced");
});

test("its values arrive, and its token is in no log, status and event", async () => {
  const value = world.canaries.text("value");
  await world.protect("shop-db", value);
  await world.apply(secretThrough("workload", "shop-db", { password: "shop-db" }));
  const secret = await world.until(
    "Secret",
    "shop-db",
    (one) => bytesOf(one, "password") !== undefined,
  );
  expect(bytesOf(secret, "password")?.toString()).toBe(value);
  const status = JSON.stringify(await world.get("VaultConnection", "workload"));
  // Every JWT of Kubernetes starts with the same characters.
  expect(`${world.operator.log}${status}`).not.toMatch(/eyJhbGci/u);
});
