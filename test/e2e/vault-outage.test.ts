import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../support/clock/wait-until.ts";
import { PersistentVault } from "./support/persistent-vault.ts";
import { bytesOf, condition, type ObservedObject, vaultSecret, World } from "./support/world.ts";

/** No fault of the vault changes a Secret: it is kept, reported as stale, and synced again afterwards. */
const NAMES = Array.from({ length: 10 }, (_, index) => `kept-${index}`);

let persistent: PersistentVault;
let world: World;
let values: Map<string, string>;
beforeAll(async () => {
  const started = await PersistentVault.start();
  persistent = started.persistent;
  world = await World.create({ vault: started.vault });
  values = new Map(NAMES.map((name) => [name, world.canaries.text(name)]));
  for (const [name, value] of values) await world.protect(name, value);
  await world.apply(...NAMES.map((name) => vaultSecret(name, { password: name })));
  await world.startOperator();
  for (const name of NAMES) await world.ready("VaultSecret", name);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await persistent[Symbol.asyncDispose]();
});

/** Returns identity, resourceVersion and content of all targets. */
async function targets(): Promise<string> {
  const secrets = (await world.list("Secret")).filter(({ metadata }) => NAMES.includes(metadata.name));
  return JSON.stringify(secrets.map(({ metadata, data }) => [metadata.name, metadata.uid, metadata.resourceVersion, data]));
}

/** Returns the reasons of the events about objects of a kind, in the order of their time. */
async function eventsOf(kind: string): Promise<string[]> {
  const command = ["get", "events", "-o", "json", `--field-selector=involvedObject.kind=${kind}`, "--sort-by=.eventTime"];
  const { stdout } = await world.plane.kubectl(command, { namespace: world.namespace });
  const { items }: { items: { reason: string }[] } = JSON.parse(stdout);
  return items.map(({ reason }) => reason);
}

async function allHave(what: string, predicate: (resource: ObservedObject) => boolean): Promise<void> {
  await waitUntil(what, async () => (await world.list("VaultSecret")).every(predicate), 60_000);
}

const isStale = (resource: ObservedObject): boolean => condition(resource, "Stale")?.status === "True";
const isReady = (resource: ObservedObject): boolean => condition(resource, "Ready")?.status === "True";

async function expectSyncResumes(): Promise<void> {
  await allHave("nothing is stale", (resource) => !isStale(resource));
  const next = world.canaries.text("after an outage");
  await world.protect("kept-0", next);
  await world.until("Secret", "kept-0", (secret) => bytesOf(secret, "password")?.toString() === next);
}

test("a vault outage of several intervals marks resources as stale and changes nothing else", async () => {
  const before = await targets();
  await persistent.stop();
  await allHave("everything is stale", isStale);
  const resources = await world.list("VaultSecret");
  expect(resources.every(isReady)).toBe(true);
  const [, since] = /listed reliably since (\S+);/u.exec(condition(resources[0]!, "Stale")?.message ?? "") ?? [];
  expect(condition(resources[0]!, "Ready")?.message).toMatch(`but the vault was not listed reliably since ${since}`);
  const { namespace } = world;
  const { stdout: table } = await world.plane.kubectl(["get", "vaultsecrets", "kept-0", "-o", "wide"], { namespace });
  expect(table).toMatch(/ CONNECTION +STALE +MESSAGE\n.* vault +True +the target is in sync/u);
  const connection = await world.until("VaultConnection", "vault", (one) => condition(one, "Ready")?.status === "False");
  expect(condition(connection, "Ready")?.reason).toBe("VaultUnreachable");
  expect(await targets()).toBe(before);

  await persistent.restart();
  await allHave("nothing is stale", (resource) => !isStale(resource));
  expect(await targets()).toBe(before);
  await expect.poll(async () => (await eventsOf("VaultConnection")).at(-1)).toBe("Connected");
  expect(await eventsOf("VaultConnection")).toContain("VaultUnreachable");
  expect(await eventsOf("VaultSecret")).toEqual(NAMES.map(() => "TargetCreated"));
  await expectSyncResumes();
});

test("an operator that starts during a vault outage changes nothing", async () => {
  const before = await targets();
  await persistent.stop();
  const operator = await world.restartOperator();
  await allHave("everything is stale", isStale);
  expect((await world.list("VaultSecret")).every(isReady)).toBe(true);
  expect(await targets()).toBe(before);
  expect(operator.log).not.toContain("reconcile failed");
  await persistent.restart();
  await expectSyncResumes();
});

const page = "<html><body>Please log in</body></html>";
const impostors: [what: string, respond: (response: ServerResponse) => void][] = [
  ["a login page with status 200", (response) => response.writeHead(200, { "content-type": "text/html" }).end(page)],
  ["status 404 for every request", (response) => response.writeHead(404, { "content-type": "text/plain" }).end("no such page")],
  ["an empty body", (response) => response.writeHead(200, { "content-type": "application/json" }).end()],
  ["JSON of another schema", (response) => response.writeHead(200, { "content-type": "application/json" }).end("[]")],
  ["status 500", (response) => response.writeHead(500).end("oops")],
  ["a redirect", (response) => response.writeHead(302, { location: "http://127.0.0.1:9/" }).end()],
  [
    "a truncated response",
    (response) => response.writeHead(200, { "content-length": "100" }).write('{"secrets":[') && response.destroy(),
  ],
];

test.each(impostors)("%s instead of the vault changes nothing", async (_what, respond) => {
  const before = await targets();
  await persistent.stop();
  {
    let requests = 0;
    await using _impostor = await persistent.impostor((_request, response) => {
      requests += 1;
      respond(response);
    });
    await waitUntil("the operator has sent several requests", () => requests >= 3, 60_000);
    const connection = await world.until("VaultConnection", "vault", (one) => condition(one, "Ready")?.status === "False");
    expect(condition(connection, "Ready")?.message).not.toContain("Please log in");
    expect(await targets()).toBe(before);
    expect((await world.list("VaultSecret")).every(isReady)).toBe(true);
  }
  await persistent.restart();
  await world.until("VaultConnection", "vault", (one) => condition(one, "Ready")?.status === "True", 60_000);
  expect(await targets()).toBe(before);
});

test("no value appears in logs, events, statuses, annotations or metrics", async () => {
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});
