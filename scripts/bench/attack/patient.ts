import { setTimeout as sleep } from "node:timers/promises";
import type { VaultResponse } from "../../../test/lab/vault/vault-client.ts";

/** Sends a request until the rate limits admit it, and returns its response. */
export async function admitted(send: () => Promise<VaultResponse>): Promise<VaultResponse> {
  for (;;) {
    const response = await send();
    if (response.status !== 429) return response;
    await sleep(Number(response.headers["retry-after"] ?? 1) * 1000);
  }
}

/**
 * Sends a request of a preparation until the rate limits admit it. @throws Error when it is
 * rejected
 */
export async function prepared(send: () => Promise<VaultResponse>): Promise<VaultResponse> {
  const response = await admitted(send);
  if (response.status !== 200)
    throw new Error(`preparation: ${response.status} ${response.bytes.toString().slice(0, 200)}`);
  return response;
}
