import { parseArgs } from "node:util";
import { storeKinds } from "../test/support/vault/store-location.ts";
import { keepResult, measureAll, printTable } from "./report.ts";
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
  process.stdout.write(`Throughput and latency of a vault server in a process of its own.

npm run bench:vault -- [--store sqlite|postgres] [--clients 16] [--seconds 2] [--repeats 5] [--quick]

  --seconds  of each case in each repeat
  --repeats  after one that warms up and does not count; each repeat goes through all cases
  --quick    0.3 s a case, two repeats, no list of 100,000: only to see that it runs; writes no result
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
if (!quick) await keepResult(`vault-${store}`, settings, result);
