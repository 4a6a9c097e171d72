import type { ConsumerRecord } from "../../../protocol/responses.ts";
import { isConsumerRecord } from "./responses.ts";
import { listOf, shape } from "./shape.ts";
import type { VaultClient } from "./vault-client.ts";

/** A secret or a file of the user. */
export interface OwnEntry {
  readonly kind: "secret" | "file";
  readonly name: string;
}

const consumerList = shape<{ consumers: readonly ConsumerRecord[] }>({
  consumers: listOf(isConsumerRecord),
});

/** Returns the resources that read an entry, the newest read first. */
export async function listConsumers(
  client: VaultClient,
  { kind, name }: OwnEntry,
): Promise<readonly ConsumerRecord[]> {
  const body = kind === "secret" ? { key_name: name } : { filename: name };
  return (await client.call("consumer_list", body, consumerList)).consumers;
}
