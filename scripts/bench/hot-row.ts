import { fork } from "node:child_process";
import { once } from "node:events";
import { loadavg, setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { VaultServerProcess } from "../../test/lab/real/processes/vault-server-process.ts";
import { storeKinds, StoreLocation } from "../../test/lab/vault/store-location.ts";
import { VaultClient } from "../../test/lab/vault/vault-client.ts";
import { quantile } from "./statistics.ts";
import { table } from "./table.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "postgres" },
    requests: { type: "string", default: "40" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    "attacker-nice": { type: "string", default: "0" },
    help: { type: "boolean" },
  },
});
const store = storeKinds.find((kind) => kind === values.store);
if (values.help === true || store === undefined) {
  process.stdout
    .write(`Measure the writes of an account alone, and next to another account that writes one secret all the time.

npm run bench -- hot-row [--store sqlite|postgres] [--requests 40] [--seconds 5] [--rounds 3] [--attacker-nice 0]

Exits with 1 when the median next to the hot secret is more than twice that alone.

  --store     kind of database (default postgres)
  --requests  number of requests for the hot secret that are in flight (default 40)
  --seconds   duration of each measurement (default 5)
  --rounds    number of measurements of each kind, in turn (default 3)
  --attacker-nice
              scheduling priority of the process that writes the hot secret: 19 approximates another machine (default 0, that of the server)
`);
  process.exit(values.help === true ? 0 : 2);
}

/** Factor by which the median may grow. */
const GOAL = 2;
/** Interval between two writes of the account that is measured. */
const PAUSE_MS = 20;
/**
 * Time after which the hot secret is written steadily, its account's first burst included, and all
 * effects of it have ended.
 */
const SETTLE_MS = 2_000;
const [ordinary, busy] = ["ordinary@example.com", "busy@example.com"];

await using place = await StoreLocation.create(store);
await place.addAccounts([ordinary, busy]);
await using server = await VaultServerProcess.start(place.args);
using client = await VaultClient.connect(server.url, ordinary, ordinary, { keepAlive: true });

/** Returns the latencies in milliseconds of an account's writes. */
async function measure(): Promise<number[]> {
  const latencies: number[] = [];
  const end = performance.now() + Number(values.seconds) * 1000;
  while (performance.now() < end) {
    const start = performance.now();
    const { status } = await client.call("protect", { key_name: "own", key_value: "value" });
    if (status !== 200) throw new Error(`protect: expected 200, got ${status}`);
    latencies.push(performance.now() - start);
    await sleep(PAUSE_MS);
  }
  return latencies;
}

const attacker = fork(join(import.meta.dirname, "hot-row-process.ts"), [
  server.url,
  busy,
  values.requests,
]);
setPriority(attacker.pid ?? 0, Number(values["attacker-nice"]));
await once(attacker, "message");
await measure();
const alone: number[] = [];
const next: number[] = [];
let written = 0;
for (let round = 0; round < Number(values.rounds); round += 1) {
  alone.push(...(await measure()));
  attacker.send("write");
  await sleep(SETTLE_MS);
  next.push(...(await measure()));
  attacker.send("stop");
  written += Number((await once(attacker, "message"))[0]);
  await sleep(SETTLE_MS);
}
attacker.kill();

const quantiles = (latencies: readonly number[], ...shares: readonly number[]): number[] => {
  const ascending = latencies.toSorted((a, b) => a - b);
  return shares.map((share) => quantile(ascending, share));
};
const row = (name: string, latencies: readonly number[]): string[] => [
  name,
  String(latencies.length),
  ...quantiles(latencies, 0.5, 0.99, 1).map((ms) => ms.toFixed(1)),
];
process.stdout.write(
  table([
    ["", "writes", "p50 ms", "p99 ms", "max ms"],
    row("alone", alone),
    row("next to the hot secret", next),
  ]),
);
const [[before = 0], [after = 0]] = [quantiles(alone, 0.5), quantiles(next, 0.5)];
const rate = written / (Number(values.rounds) * (Number(values.seconds) + SETTLE_MS / 1000));
process.stdout.write(
  `ratio of the medians ${(after / before).toFixed(2)}, at most ${GOAL} expected; the hot secret was written ${rate.toFixed(0)} times/s; load ${loadavg()[0]?.toFixed(1)}\n`,
);
if (after / before > GOAL) process.exitCode = 1;
