import { parseArgs } from "node:util";
import { storeKinds } from "../test/support/vault/store-location.ts";
import { saveResult, measureAll, printTable } from "./report.ts";
import { openVaultCases } from "./vault-cases.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    clients: { type: "string", default: "16" },
    seconds: { type: "string", default: "2" },
    repeats: { type: "string", default: "5" },
    quick: { type: "boolean", default: false },
    help: { type: "boolean" },
  },
});
const store = storeKinds.find((kind) => kind === values.store);
if (values.help === true || store === undefined) {
  process.stdout.write(`Measure the throughput and latency of a vault server in its own process.

npm run bench:vault -- [--store sqlite|postgres] [--clients 16] [--seconds 2] [--repeats 5] [--quick]

  --store    kind of database (default sqlite)
  --clients  number of concurrent clients (default 16)
  --seconds  duration of each case in each repeat (default 2)
  --repeats  number of repeats of all cases after a warm-up (default 5)
  --quick    smoke test: 0.3 s per case, two repeats, no list of 100,000; writes no result
`);
  process.exit(values.help === true ? 0 : 2);
}
const { quick } = values;
const settings = {
  store,
  clients: Number(values.clients),
  seconds: quick ? 0.3 : Number(values.seconds),
  repeats: quick ? 2 : Number(values.repeats),
};

await using vault = await openVaultCases({ ...settings, longList: !quick });
const result = await measureAll(vault.cases, settings);
printTable(result);
if (!quick) await saveResult(`vault-${store}`, settings, result);
