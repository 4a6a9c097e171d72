import type { ConsumerRecord } from "../../../protocol/responses.ts";
import { millisecondsOf } from "../text/formats.ts";
import { isConsumerRecord } from "./responses.ts";
import { listOf, shape } from "./shape.ts";
import type { VaultClient } from "./vault-client.ts";

/** Secrets or a file of the user. */
export interface OwnEntries {
  readonly kind: "secret" | "file";
  readonly names: readonly string[];
}

/** Names of one request. */
const MAX_NAMES = 100;

const consumerList = shape<{ consumers: readonly ConsumerRecord[] }>({
  consumers: listOf(isConsumerRecord),
});

const timeOf = (read: ConsumerRecord): number => millisecondsOf(read.last_read_at);

/** Returns the resources that read some entries, the newest read first. */
export async function listConsumers(
  client: VaultClient,
  { kind, names }: OwnEntries,
): Promise<readonly ConsumerRecord[]> {
  const all: ConsumerRecord[] = [];
  for (let at = 0; at < names.length; at += MAX_NAMES) {
    const some = names.slice(at, at + MAX_NAMES);
    const body = kind === "secret" ? { key_name: some } : { filename: some[0] };
    all.push(...(await client.call("consumer_list", body, consumerList)).consumers);
  }
  return all.toSorted((one, other) => timeOf(other) - timeOf(one));
}
