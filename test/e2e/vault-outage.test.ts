import { afterAll, beforeAll, expect, test } from "vitest";
import { isStale, KeptSecrets, NAMES } from "./support/kept-secrets.ts";
import { condition, isReady } from "../lab/real/resources.ts";

/**
 * No outage of the vault changes a Secret: it is kept, reported as stale, and synced again
 * afterwards.
 */
let scene: KeptSecrets;
beforeAll(async () => {
  scene = await KeptSecrets.create();
});
afterAll(() => scene[Symbol.asyncDispose]());

/** Returns the reasons of the events about objects of a kind, in the order of their time. */
async function eventsOf(kind: string): Promise<string[]> {
  const command = [
    "get",
    "events",
    "-o",
    "json",
    `--field-selector=involvedObject.kind=${kind}`,
    "--sort-by=.eventTime",
  ];
  const { stdout } = await scene.world.plane.kubectl(command, { namespace: scene.world.namespace });
  const { items }: { items: { reason: string }[] } = JSON.parse(stdout);
  return items.map(({ reason }) => reason);
}

test("a vault outage of several intervals marks resources as stale and changes nothing else", async () => {
  const before = await scene.targets();
  await scene.persistent.stop();
  await scene.allHave("everything is stale", isStale);
  const resources = await scene.world.list("VaultSecret");
  expect(resources.every(isReady)).toBe(true);
  const [, since] =
    /listed reliably since (\S+);/u.exec(condition(resources[0]!, "Stale")?.message ?? "") ?? [];
  expect(condition(resources[0]!, "Ready")?.message).toMatch(
    `but the vault was not listed reliably since ${since}`,
  );
  const { namespace } = scene.world;
  const { stdout: table } = await scene.world.plane.kubectl(
    ["get", "vaultsecrets", "kept-0", "-o", "wide"],
    { namespace },
  );
  expect(table).toMatch(/ CONNECTION +STALE +MESSAGE\n.* vault +True +the target is in sync/u);
  const connection = await scene.world.until(
    "VaultConnection",
    "vault",
    (one) => condition(one, "Ready")?.status === "False",
  );
  expect(condition(connection, "Ready")?.reason).toBe("VaultUnreachable");
  expect(await scene.targets()).toBe(before);

  await scene.persistent.restart();
  await scene.allHave("nothing is stale", (resource) => !isStale(resource));
  expect(await scene.targets()).toBe(before);
  await expect.poll(async () => (await eventsOf("VaultConnection")).at(-1)).toBe("Connected");
  expect(await eventsOf("VaultConnection")).toContain("VaultUnreachable");
  expect(await eventsOf("VaultSecret")).toEqual(NAMES.map(() => "TargetCreated"));
  await scene.expectSyncResumes();
});

test("an operator that starts during a vault outage changes nothing", async () => {
  const before = await scene.targets();
  await scene.persistent.stop();
  const operator = await scene.world.restartOperator();
  await scene.allHave("everything is stale", isStale);
  expect((await scene.world.list("VaultSecret")).every(isReady)).toBe(true);
  expect(await scene.targets()).toBe(before);
  expect(operator.log).not.toContain("reconcile failed");
  await scene.persistent.restart();
  await scene.expectSyncResumes();
});

test("vaultsync sync during a vault outage exits with 3 and says why", async () => {
  await scene.persistent.stop();
  const { code, stdout } = await scene.world.run("sync", "kept-1");
  expect(code).toBe(3);
  expect(stdout).toEqual(
    expect.stringMatching(/VaultUnreachable[^]*the vault was not listed for the forced sync/u),
  );
  await scene.persistent.restart();
  await scene.world.ready("VaultSecret", "kept-1");
});

test("no value appears in logs, events, statuses, annotations or metrics", async () => {
  expect(scene.world.canaries.tracesIn(await scene.world.operatorOutput())).toEqual([]);
});
