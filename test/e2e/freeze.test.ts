import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { type Manifest, manifestsOf } from "../lab/real/granted.ts";
import { World } from "../lab/real/world.ts";
import { condition, vaultSecret } from "../lab/real/resources.ts";
import { runAsAdmin } from "../lab/real/processes/run-in-process.ts";

const RBAC = ["Role", "RoleBinding", "ServiceAccount"];

/**
 * `vaultsync freeze` and `vaultsync unfreeze`, with a vault and an operator with the permissions of
 * deploy/namespaced. Its namespace is another one: a freeze must not concern other tests.
 */
let world: World;
let operatorNamespace: string;
beforeAll(async () => {
  const plane = await sharedControlPlane();
  operatorNamespace = await plane.createNamespace("operator");
  const rendered = (folder: string): Promise<Manifest[]> =>
    manifestsOf(plane, folder, operatorNamespace);
  const own = await rendered("deploy/namespaced");
  await plane.apply(
    own.filter(({ kind }) => RBAC.includes(kind)),
    operatorNamespace,
  );
  world = await World.create({
    plane,
    account: { serviceAccount: "vaultsync", namespace: operatorNamespace },
  });
  await plane.apply(await rendered("deploy/namespaced/tenant"), world.namespace);
  await world.startOperator();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

const run = (command: string, ...args: string[]) =>
  runAsAdmin(world.plane, [command, "--operator-namespace", operatorNamespace, ...args]);

test("targets follow newer versions again when a user ends a freeze", async () => {
  const [first, second] = ["first", "second"].map((name) => world.canaries.text(name));
  await world.protect("password", first!);
  await world.apply(vaultSecret("shop", { password: "password" }));
  await world.ready("VaultSecret", "shop");

  const until = new Date(Date.now() + 3_600_000).toISOString();
  expect(await run("freeze", "--until", "tomorrow")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("--until: expected a time"),
  });
  const selector = `kubernetes.io/metadata.name in (${world.namespace})`;
  const frozen = await run("freeze", "--until", until, "--namespace-selector", selector);
  expect(frozen).toMatchObject({ code: 0, stdout: expect.stringContaining("vaultsync unfreeze") });
  const again = await run("freeze", "--until", until, "--reason", "holidays", "-o", "json");
  expect(JSON.parse(again.stdout)).toEqual({ frozen: true, until, reason: "holidays" });

  await world.protect("password", second!);
  const waiting = await world.until(
    "VaultSecret",
    "shop",
    (one) => condition(one, "UpdateAvailable")?.reason === "Frozen",
  );
  expect(condition(waiting, "UpdateAvailable")?.message).toContain("holidays): password 1 → 2");
  await world.has("shop", "password", first!);

  expect(await run("unfreeze", "-o", "json")).toMatchObject({ code: 0 });
  await world.has("shop", "password", second!);
  expect((await run("unfreeze")).stdout).toContain("nothing is frozen");
});
