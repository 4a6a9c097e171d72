import { afterAll, beforeAll, expect, test } from "vitest";
import { World } from "../lab/real/world.ts";
import { bytesOf, vaultSecret } from "../lab/real/resources.ts";

/** `vaultsync sync` with an operator that polls its vault once per hour. */
let world: World;
beforeAll(async () => {
  world = await World.create({ connection: { refreshInterval: "1h" } });
  await world.startOperator();
});
afterAll(() => world[Symbol.asyncDispose]());

const sync = (...args: string[]) => world.run("sync", ...args);

test("syncs a resource and prints the version that its target has then", async () => {
  await world.protect("db", world.canaries.text("first"));
  await world.apply(vaultSecret("db", { password: "db" }));
  await world.ready("VaultSecret", "db");
  const second = world.canaries.text("second");
  await world.protect("db", second);
  const { code, stdout, stderr } = await sync("db");
  expect(code).toBe(0);
  expect(stderr).toBe("");
  expect(stdout).toMatch(/^RESOURCE .*\nvaultsecret\/db {2}True {3}Synced {2}Secret\/db {2}2 /u);
  const secret = await world.until("Secret", "db", () => true);
  expect(bytesOf(secret, "password")?.toString()).toBe(second);
  expect(world.canaries.tracesIn({ stdout })).toEqual([]);
});

test("a resource that is not ready afterwards is printed with its message; the exit code is 3", async () => {
  await world.apply(vaultSecret("missing", { password: "no-such-secret" }));
  const { code, stdout } = await sync("vaultsecret/missing");
  expect(code).toBe(3);
  expect(stdout).toEqual(
    expect.stringMatching(/SourceMissing[^]*\nvaultsecret\/missing: .*no-such-secret/u),
  );
});

test("a suspended resource, an unknown one and one without an operator say what is wrong", async () => {
  const data = [{ secretKey: "password", remoteRef: { key: "db" } }];
  const spec = { connectionRef: { name: "vault" }, suspend: true, data };
  await world.apply({
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: { name: "suspended" },
    spec,
  });
  expect(await sync("suspended")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/is suspended: set spec\.suspend to false/u),
  });
  expect(await sync("vaultfile/none")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/no vaultfile\/none in namespace/u),
  });
  expect(await sync("deployment/web")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /expected NAME, vaultsecret\/NAME, vaultfile\/NAME, .*clustervaultfile\/NAME or vaultpush\/NAME/u,
    ),
  });
  await world.operator.stop();
  expect(await sync("db", "--timeout", "1s")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/not synced within 1 s.*does an operator run/u),
  });
});
