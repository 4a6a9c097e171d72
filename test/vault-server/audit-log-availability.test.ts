import { rename, unlink } from "node:fs/promises";
import { beforeEach, expect, test } from "vitest";
import { verifyAuditLog } from "../../src/vault/server/audit/verify-audit-log.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { sendRequest } from "../lab/vault/vault-client.ts";
import { TestDirectory } from "../lab/test-directory.ts";

const ann = "ann@example.com";
const directory = new TestDirectory();
let file: string;
beforeEach(() => {
  file = directory.join("audit.jsonl");
});

const start = (clock: VirtualClock): Promise<TestVault> =>
  TestVault.start({ auditLog: { file }, clock });

test("serves nothing and is not ready while the audit log is not writable, then recovers", async () => {
  const clock = new VirtualClock();
  await using vault = await start(clock);
  const caller = await vault.client(ann);
  await rename(file, `${file}.1`);
  const ready = async (): Promise<number> =>
    (await sendRequest(`${vault.url}/readyz`, { method: "GET" })).status;
  // The first line fails, so the request is rejected before it has an effect.
  const refused = await caller.call("protect", { key_name: "a", key_value: "x" });
  expect(refused.outcome()).toBe("503 unavailable");
  expect(refused.headers["retry-after"]).toBe("1");
  expect((await caller.call("list_no_dup")).outcome()).toBe("503 unavailable");
  expect((await caller.upload([{ filename: "f", bytes: Buffer.from("x") }])).outcome()).toBe(
    "503 unavailable",
  );
  expect((await vault.logIn(ann)).outcome()).toBe("503 unavailable");
  const unavailable = (): Promise<number | undefined> =>
    vault.metric("vaultsync_vault_audit_log_unavailable");
  expect(await unavailable()).toBe(1);
  expect(await ready()).toBe(503);
  expect((await sendRequest(`${vault.url}/healthz`, { method: "GET" })).status).toBe(200);
  await clock.advance(1000);
  expect(await ready()).toBe(200);
  expect(await unavailable()).toBe(0);
  expect((await caller.call("list_no_dup")).json()).toEqual({ secrets: [] });
  expect((await verifyAuditLog([`${file}.1`, file])).damage).toBeUndefined();
});

test("a read that cannot be logged returns nothing, streamed bytes included", async () => {
  const clock = new VirtualClock();
  await using vault = await start(clock);
  const caller = await vault.client(ann);
  await caller.call("protect", { key_name: "a", key_value: "x" });
  await caller.upload([{ filename: "f", bytes: Buffer.from("precious") }]);
  for (const [operation, body, usual] of [
    ["expose", { key_name: "a" }, "200"],
    ["download_file", { filename: "f" }, "200"],
    ["list_no_dup", {}, "200"],
    ["expose", { key_name: "missing" }, "404 secret_not_found"],
  ] as const) {
    await clock.advance(1000);
    expect((await caller.call(operation, body)).outcome()).toBe(usual);
    await unlink(file);
    const response = await caller.call(operation, body);
    expect(response.outcome(), operation).toBe("503 unavailable");
    expect(response.headers["retry-after"], operation).toBe("1");
    expect(response.headers.etag).toBeUndefined();
    expect(response.bytes.toString()).not.toContain("precious");
    expect(response.headers["content-type"]).toContain("application/json");
  }
});
