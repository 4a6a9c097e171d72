import { afterAll } from "vitest";
import type { VaultServerOptions } from "../../../src/vault/server/vault-server.ts";
import { TestVault } from "./test-vault.ts";
import { scopeString, type VaultClient } from "./vault-client.ts";

export interface VaultWithClients {
  readonly vault: TestVault;
  readonly ann: VaultClient;
  readonly bob: VaultClient;
  readonly cid: VaultClient;
}

export interface UseVaultOptions extends Partial<VaultServerOptions> {
  /** Email addresses of further accounts. */
  readonly more?: readonly string[];
}

const emails = ["ann@example.com", "bob@example.com", "cid@example.com"];
/** Outlives every step of a virtual clock. */
const TOKEN_HOURS = 1e6;

/**
 * Starts the vault of a test file, practically without a request rate, logs in three users and
 * stops the vault after the file's tests. Awaited at the top level of the file: tests and helpers
 * share constants.
 */
export async function useVault({
  more = [],
  limits = {},
  ...options
}: UseVaultOptions = {}): Promise<VaultWithClients> {
  const vault = await TestVault.start({
    emails: [...emails, ...more],
    limits: { requestsPerSecond: 1e6, requestBurst: 1e6, ...limits },
    ...options,
  });
  afterAll(() => vault[Symbol.asyncDispose]());
  const client = (email: string): Promise<VaultClient> =>
    vault.client(email, scopeString(), TOKEN_HOURS);
  return {
    vault,
    ann: await client("ann@example.com"),
    bob: await client("bob@example.com"),
    cid: await client("cid@example.com"),
  };
}
