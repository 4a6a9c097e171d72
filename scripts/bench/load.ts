import { parseArgs } from "node:util";
import { runLoad } from "../../test/lab/vault/run-load.ts";
import { storeKinds, StoreLocation } from "../../test/lab/vault/store-location.ts";
import { saveResult } from "./result-file.ts";
import { table } from "./table.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    clients: { type: "string", default: "200" },
    seconds: { type: "string", default: "60" },
    help: { type: "boolean" },
  },
});
const store = storeKinds.find((kind) => kind === values.store);
if (values.help === true || store === undefined) {
  process.stdout
    .write(`Run many concurrent clients against a vault server with default limits and compare every response with what was written.

npm run bench -- load [--store sqlite|postgres] [--clients 200] [--seconds 60]

Exits with 1 when a response is wrong or has another status than 200 or 429.

  --store    kind of database (default sqlite)
  --clients  number of concurrent clients (default 200)
  --seconds  duration of the run (default 60)
`);
  process.exit(values.help === true ? 0 : 2);
}

await using place = await StoreLocation.create(store);
const result = await runLoad(place, {
  clients: Number(values.clients),
  seconds: Number(values.seconds),
});
process.stdout.write(
  table([
    ["operation, status", "responses"],
    ...Object.entries(result.statuses).map(([key, count]) => [key, String(count)]),
  ]),
);
const rate = (result.responses / result.seconds).toFixed(0);
process.stdout.write(
  `${result.responses} responses in ${result.seconds} s (${rate}/s) to ${result.clients} clients, ${result.wrong} wrong\n`,
);
for (const example of result.examples) process.stdout.write(`wrong: ${example}\n`);
await saveResult(`load-${store}`, { store }, result);
if (result.wrong > 0) process.exitCode = 1;
