import { setTimeout as sleep } from "node:timers/promises";
import type { VaultResponse, VaultClient } from "../../../test/lab/vault/vault-client.ts";

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

/** Metadata of a version near its limit of 64 KiB. */
export const largeMetadata = Object.fromEntries(
  Array.from({ length: 60 }, (_, index) => [`n${index}`, "x".repeat(1_000)]),
);

/** Stores secrets with large metadata, named `large-0` and so on, and returns their names. */
export async function storeLarge(account: VaultClient, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `large-${index}`);
  for (const key_name of names)
    await prepared(() =>
      account.call("protect", { key_name, key_value: "v", metadata: largeMetadata }),
    );
  return names;
}
