import type { VaultClient } from "../../../test/lab/vault/vault-client.ts";
import { prepared } from "./patient.ts";

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
