import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { VaultClient } from "../../test/lab/vault/vault-client.ts";

/**
 * Writes one secret of scripts/bench/hot-row.ts, with requests in flight from a first message to the next.
 * Replies to the second message with the number of requests.
 */
const [url = "", email = "", requests = ""] = process.argv.slice(2);
/** Number of logins of the account: each has a separate rate. */
const LOGINS = 4;
/** Time to wait after a rejected request: requests beyond the account's rate take no CPU time. */
const REJECTED_MS = 100;

const clients: VaultClient[] = [];
for (let index = 0; index < Number(requests); index += 1) {
  const first = clients[index - LOGINS];
  clients.push(
    first?.at(url) ?? (await VaultClient.connect(url, email, email, { keepAlive: true })),
  );
}

async function write(client: VaultClient, stop: AbortSignal): Promise<number> {
  let written = 0;
  while (!stop.aborted) {
    const { status } = await client.call("protect", { key_name: "hot", key_value: "value" });
    if (status === 200) written += 1;
    else await sleep(REJECTED_MS);
  }
  return written;
}

process.send?.("ready");
for (;;) {
  await once(process, "message");
  const stop = new AbortController();
  const writing = Promise.all(clients.map((client) => write(client, stop.signal)));
  await once(process, "message");
  stop.abort();
  process.send?.((await writing).reduce((sum, count) => sum + count, 0));
}
