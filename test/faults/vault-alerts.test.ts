import { mkdir, rename, statfs } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { Redacted } from "../../src/lib/redacted.ts";
import { addUser } from "../../src/vault/server/accounts/users.ts";
import { expectAlerts } from "../lab/monitoring/expect-alerts.ts";
import { scrape, type Scrape } from "../lab/monitoring/scrape.ts";
import { VaultServerProcess } from "../lab/real/processes/vault-server-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { StoreLocation } from "../lab/vault/store-location.ts";
import { scopeString, sendRequest, VaultClient } from "../lab/vault/vault-client.ts";

/**
 * Each alert of deploy/monitoring/vault fires for the metrics of a server in a fault, and none for
 * a server before it.
 */
const directory = new TestDirectory();
const email = "ann@example.com";
const CHEAP = { memoryKib: 8, passes: 1, lanes: 1 };

const start = (...args: readonly string[]): Promise<VaultServerProcess> =>
  VaultServerProcess.start([
    "--dev",
    "--dev-users",
    email,
    "--audit-log",
    directory.join("audit.jsonl"),
    ...args,
  ]);

const scrapeOf = ({ metricsUrl }: VaultServerProcess): Promise<Scrape> =>
  scrape(metricsUrl, { namespace: "vaultsync-vault", pod: "vault-0" });

/** Logs in once and sends lists. Returns their statuses. */
async function use(server: VaultServerProcess): Promise<number[]> {
  const client = new VaultClient(server.url, email);
  await client.logIn(server.passwords.get(email) ?? "");
  const statuses: number[] = [];
  for (let count = 0; count < 20; count += 1)
    statuses.push((await client.call("list_no_dup")).status);
  return statuses;
}

/** Returns the number of requests of an operation that took longer than a second. */
function slowRequests({ text }: Scrape, operation: string): number {
  const count = (le: string): number =>
    Number(
      text
        .split("\n")
        .find((line) => line.includes(`_seconds_bucket{le="${le}",operation="${operation}"}`))
        ?.split(" ")[1] ?? 0,
    );
  return count("+Inf") - count("1");
}

/**
 * Suspends the server for more than a second during logins, whose passwords take a while to hash.
 */
async function suspend(server: VaultServerProcess): Promise<void> {
  const body = JSON.stringify({
    email,
    password: server.passwords.get(email),
    scope: scopeString(),
    expiration_hours: 1,
  });
  const login = { headers: { "content-type": "application/json" }, body };
  const logins = Array.from({ length: 6 }, () =>
    sendRequest(server.url + operationPath.generate_access_token, login),
  );
  await sleep(20);
  server.signal("SIGSTOP");
  await sleep(1_100);
  server.signal("SIGCONT");
  await Promise.all(logins);
}

test("no alert fires for a server that works", async () => {
  await using server = await start();
  const before = await scrapeOf(server);
  expect(new Set(await use(server))).toEqual(new Set([200]));
  await expectAlerts("vault", [[before, await scrapeOf(server)]], []);
});

test("alerts of errors fire while the audit log cannot be written, another one without a process", async () => {
  await using server = await start();
  await use(server);
  const before = await scrapeOf(server);
  await rename(directory.join("audit.jsonl"), directory.join("moved"));
  await mkdir(directory.join("audit.jsonl"));
  expect(new Set(await use(server))).not.toContain(200);
  await expectAlerts(
    "vault",
    [[before, await scrapeOf(server)]],
    [{ alertname: "VaultsyncVaultAuditLogUnavailable" }, { alertname: "VaultsyncVaultErrors" }],
  );
  await server.stop("SIGKILL");
  await expect(scrapeOf(server)).rejects.toThrow("fetch failed");
  await expectAlerts("vault", [], [{ alertname: "VaultsyncVaultDown" }]);
});

test("alerts of the disk fire below four times --low-space, and below it", async () => {
  const { bavail, bsize } = await statfs(directory.path);
  for (const [lowSpace, alertname] of [
    [(bavail * bsize) / 2, "VaultsyncVaultDiskFilling"],
    [bavail * bsize * 2, "VaultsyncVaultDiskLow"],
  ] as const) {
    await using server = await start("--low-space", String(Math.round(lowSpace)));
    const now = await scrapeOf(server);
    await expectAlerts(
      "vault",
      [[now, { ...now, at: now.at + 1 }]],
      [{ alertname, volume: "audit_log" }],
    );
  }
});

test("VaultsyncVaultSlow fires for the operation whose requests take more than a second", async () => {
  await using server = await start();
  const before = await scrapeOf(server);
  let now = before;
  while (slowRequests(now, "generate_access_token") === 0) {
    await suspend(server);
    now = await scrapeOf(server);
  }
  await expectAlerts(
    "vault",
    [[before, now]],
    [{ alertname: "VaultsyncVaultSlow", operation: "generate_access_token" }],
  );
});

test("VaultsyncVaultDamagedRights fires for a share that was changed in the database", async () => {
  await using place = await StoreLocation.create("sqlite");
  {
    await using store = await place.open();
    for (const user of [email, "bob@example.com"])
      await addUser(store, user, new Redacted(user), Date.now(), CHEAP);
  }
  await using server = await VaultServerProcess.start(place.args);
  const [ann, bob] = [email, "bob@example.com"].map((user) => new VaultClient(server.url, user));
  for (const client of [ann!, bob!]) await client.logIn(client.email);
  await ann!.call("protect", { key_name: "a", key_value: "v" });
  const grant = { key_name: ["a"], usr_id_from: email, usr_id_to: [bob!.email], permission: "W" };
  expect((await ann!.call("share", grant)).outcome()).toBe("200");
  const before = await scrapeOf(server);
  // An alert sees only what a series gains.
  expect(before.text).toContain('vaultsync_vault_damaged_rights_total{table="person_grants"} 0');
  await expectAlerts("vault", [[before, { ...before, at: before.at + 1 }]], []);
  const database = new DatabaseSync(place.data);
  database.exec("UPDATE person_grants SET reads = 1");
  database.close();
  expect((await bob!.call("expose_link", { key_name: "a" })).status).toBe(403);
  await expectAlerts(
    "vault",
    [[before, await scrapeOf(server)]],
    [{ alertname: "VaultsyncVaultDamagedRights", table: "person_grants" }],
  );
});
