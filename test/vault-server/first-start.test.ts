import { expect, test } from "vitest";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { createLogger } from "../../src/telemetry/create-logger.ts";
import type { VaultServerOptions } from "../../src/vault/server/vault-server.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { sendRequest } from "../lab/vault/vault-client.ts";

/** Starts a vault and returns it with the lines that it logs about accounts. */
async function start(options: Partial<VaultServerOptions> & { readonly emails: string[] }) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ name: "vault", level: "info", destination });
  const vault = await TestVault.start({ ...options, logger });
  return { vault, reports: () => lines.filter((line) => line.includes('"event":"no_accounts"')) };
}

const session = async (vault: TestVault) =>
  (await vault.post(sessionOperationPath.app_session, {})).json();

test("a vault without accounts says in its log and to its page how to add the first", async () => {
  const { vault, reports } = await start({ emails: [] });
  await using _ = vault;
  expect(reports()).toHaveLength(1);
  expect(reports().join()).toContain("vaultsync vault user add EMAIL");
  expect(reports().join()).not.toContain("sign up");
  expect(await session(vault)).toMatchObject({ session: null, no_accounts: true });
});

test("a vault without accounts that is open names the page for signing up", async () => {
  const { vault, reports } = await start({ emails: [], signUp: { mode: "open" } });
  await using _ = vault;
  expect(reports().join()).toContain(`or sign up at ${vault.url}`);
});

test("a vault with an account says nothing about it", async () => {
  const { vault, reports } = await start({ emails: ["ann@example.com"] });
  await using _ = vault;
  expect(reports()).toEqual([]);
  expect(await session(vault)).not.toHaveProperty("no_accounts");
});

const get = (url: string, headers: Record<string, string>) =>
  sendRequest(url, { method: "GET", headers });

test("an address that leads nowhere is a page in a browser, and JSON for a program", async () => {
  await using vault = await TestVault.start();
  const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
  const wrong = await get(`${vault.url}/secrets`, browser);
  expect(wrong.status).toBe(404);
  expect(wrong.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(wrong.bytes.toString()).toContain('<a href="/">Open the vault</a>');
  const host = "attacker.example";
  const misdirected = await get(vault.url, { ...browser, host });
  expect(misdirected.status).toBe(421);
  expect(misdirected.bytes.toString()).toContain("--app-url");
  expect(misdirected.bytes.toString()).not.toContain(host);
  expect((await get(`${vault.url}/secrets`, { accept: "*/*" })).outcome()).toBe("404 not_found");
  expect((await get(vault.url, { host })).outcome()).toBe("421 misdirected_request");
});
