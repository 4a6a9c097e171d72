import type { VaultServerOptions } from "../../../src/vault-server/vault-server.ts";
import { TestVault } from "./test-vault.ts";
import { scopeString, type VaultClient } from "./vault-client.ts";

export interface VaultWithClients {
  readonly vault: TestVault;
  readonly ann: VaultClient;
  readonly bob: VaultClient;
  readonly cid: VaultClient;
}

const emails = ["ann@example.com", "bob@example.com", "cid@example.com"];
/** Outlives every step of a virtual clock. */
const TOKEN_HOURS = 1e6;

/** Starts a vault practically without a request rate and logs in three users. @param options.more emails of further accounts */
export async function startVaultWithClients({
  more = [],
  limits = {},
  ...options
}: Partial<VaultServerOptions> & { readonly more?: readonly string[] } = {}): Promise<VaultWithClients> {
  const vault = await TestVault.start({
    emails: [...emails, ...more],
    limits: { requestsPerSecond: 1e6, requestBurst: 1e6, ...limits },
    ...options,
  });
  const client = (email: string): Promise<VaultClient> => vault.client(email, scopeString(), TOKEN_HOURS);
  return {
    vault,
    ann: await client("ann@example.com"),
    bob: await client("bob@example.com"),
    cid: await client("cid@example.com"),
  };
}
