import { expect, test } from "vitest";
import { World } from "../lab/real/world.ts";
import { bytesOf, condition, vaultSecret } from "../lab/real/resources.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";

/** `vaultsync approve`, with an operator and a vault. */
test("newer versions wait until a user approves exactly these", async () => {
  await using world = await World.create();
  await world.startOperator();
  const run = (...args: string[]) =>
    runInProcess([
      "approve",
      ...args,
      "--kubeconfig",
      world.plane.kubeconfigPath,
      "-n",
      world.namespace,
    ]);
  const has = (value: string): Promise<unknown> =>
    world.until("Secret", "shop", (one) => bytesOf(one, "password")?.toString() === value);
  const [first, second] = ["first", "second"].map((name) => world.canaries.text(name));
  await world.protect("password", first!);
  const shop = vaultSecret("shop", { password: "password" });
  await world.apply({ ...shop, spec: { ...shop.spec, updates: { approval: "Required" } } });
  await world.ready("VaultSecret", "shop");
  expect((await run("shop")).stderr).toContain("vaultsecret/shop waits for no approval");

  await world.protect("password", second!);
  const waiting = await world.until(
    "VaultSecret",
    "shop",
    (one) => condition(one, "UpdateAvailable")?.reason === "AwaitingApproval",
  );
  expect(condition(waiting, "UpdateAvailable")?.message).toContain("password 1 → 2");
  await has(first!);
  expect(await run()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("name the resources to approve, or set --all"),
  });
  const shown = await run("--all", "--dry-run", "-o", "json");
  expect(JSON.parse(shown.stdout)).toMatchObject({
    approved: [{ resource: "vaultsecret/shop", updates: [{ key: "password", from: 1, to: 2 }] }],
  });
  const done = await run("shop");
  expect([done.code, done.stdout]).toEqual([0, expect.stringMatching(/password +password +1 +2/u)]);
  await has(second!);
});
