import { afterAll, beforeAll, expect, test } from "vitest";
import { readFile } from "node:fs/promises";
import { ACCOUNT, World } from "../../lab/real/world.ts";

/** The examples, applied and inspected with kubectl only. */
const NAMESPACE = "vaultsync-demo";

let world: World;
beforeAll(async () => {
  world = await World.create();
  await world.startClusterOperator();
});
afterAll(async () => {
  await world.plane.kubectl([
    "delete",
    "namespace",
    NAMESPACE,
    "--wait=false",
    "--ignore-not-found",
  ]);
  await world[Symbol.asyncDispose]();
});

const kubectl = (...args: string[]): Promise<string> => world.plane.kubectlOutput(args);

test("crds/ and examples/demo/ apply unchanged, and all their resources become Ready", async () => {
  await world.protect("shop-db", world.canaries.text("shop-db 1"));
  await world.protect("shop-db", world.canaries.text("shop-db 2"));
  await world.protect("guest-pass", world.canaries.text("guest pass"));
  await world.protect("payments", world.canaries.text("payments password"));
  for (const name of ["app.conf", "logo.png"])
    await world.upload(name, await readFile(`examples/demo/files/${name}`));

  await kubectl("apply", "-f", "crds/");
  await kubectl("apply", "-f", "examples/demo/");
  // The example contains the URL and the account of the demo; this test has others.
  const spec = { url: world.vault.url, email: ACCOUNT };
  await kubectl(
    "patch",
    "-n",
    NAMESPACE,
    "vaultconnection",
    "vault",
    "--type=merge",
    "-p",
    JSON.stringify({ spec }),
  );
  const password = world.vault.passwords.get(ACCOUNT) ?? "";
  const login = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "vault-login", namespace: NAMESPACE },
    type: "vaultsync.dev/credentials",
    stringData: { password },
  };
  await world.plane.kubectl(["create", "-f", "-"], { input: JSON.stringify(login) });

  const kinds = "vaultsecrets,vaultfiles,vaultconnections";
  const waited = await kubectl(
    "wait",
    "-n",
    NAMESPACE,
    "--for=condition=Ready",
    "--timeout=60s",
    kinds,
    "--all",
  );
  expect(waited.match(/condition met/g)).toHaveLength(5);
});

test("kubectl get shows the documented columns", async () => {
  const columns = async (...args: string[]): Promise<string[]> =>
    (await kubectl("get", "-n", NAMESPACE, ...args)).split("\n")[0]?.trim().split(/\s+/) ?? [];
  expect(await columns("vaultsecrets")).toEqual([
    "NAME",
    "READY",
    "REASON",
    "TARGET",
    "SYNCED",
    "AGE",
  ]);
  expect(await columns("vaultfiles")).toEqual([
    "NAME",
    "READY",
    "REASON",
    "KIND",
    "TARGET",
    "SYNCED",
    "AGE",
  ]);
  expect(await columns("vsec", "-o", "wide")).toEqual([
    "NAME",
    "READY",
    "REASON",
    "TARGET",
    "SYNCED",
    "AGE",
    "CONNECTION",
    "STALE",
    "MESSAGE",
  ]);
  expect(await columns("vconn")).toEqual([
    "NAME",
    "READY",
    "REASON",
    "URL",
    "EMAIL",
    "SECRETS",
    "FILES",
    "AGE",
  ]);
  const [, row = ""] = (await kubectl("get", "-n", NAMESPACE, "vaultsecret", "shop-db")).split(
    "\n",
  );
  expect(row).toMatch(/^shop-db\s+True\s+Synced\s+shop-db\s+\d+\w+\s+\d+\w+$/);
});

test("kubectl explain documents every field of a spec and of a status", async () => {
  const texts = await Promise.all(
    [
      "vconn",
      "vconn.spec.scope",
      "vsec.spec.data.remoteRef",
      "vsec.status",
      "vsec.status.conditions",
      "vfile.spec",
      "vpush.spec",
      "cvsec.spec",
      "cvfile.status",
    ].map((path) => kubectl("explain", path)),
  );
  for (const text of texts) expect(text).not.toContain("<no description>");
});
