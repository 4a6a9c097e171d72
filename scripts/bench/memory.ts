import { parseArgs } from "node:util";
import { measureSize, type SizeSettings } from "./operator/measure-size.ts";
import { saveResult } from "./result-file.ts";
import { table } from "./table.ts";

const { values } = parseArgs({
  options: {
    resources: { type: "string", multiple: true, default: ["0", "1000"] },
    connections: { type: "string", default: "1" },
    seconds: { type: "string", default: "60" },
    limit: { type: "string", default: "512" },
    vault: { type: "string", default: "server" },
    entries: { type: "string", default: "0" },
    snapshots: { type: "string" },
    output: { type: "string", default: "memory" },
    help: { type: "boolean" },
  },
});
if (values.help === true || !["server", "stub"].includes(values.vault)) {
  process.stdout
    .write(`Measure what an operator needs for its resources: memory, CPU, requests, and the size of its objects.

npm run bench -- memory [--resources 1000]… [--connections 1] [--entries 0] [--seconds 60] [--limit 512] [--vault server|stub]
    [--snapshots DIRECTORY] [--output memory]

  --resources    number of VaultSecrets (default 0 and 1000)
  --connections  number of connections that share them, each with an account of its own
  --entries      number of secrets in each account that no resource refers to
  --seconds      duration of the measurement without changes
  --limit        limit of the operator's memory in MiB, from which Node derives the heap limit, as in a container
  --vault        server: the vault server; stub: a vault in memory, for more than some 10,000 secrets
  --snapshots    directory for a heap snapshot of each operator at rest
  --output       name of the result in scripts/bench/results

The operator runs as in a pod: with the access of its ServiceAccount, and a heap that is limited as in its container. That requires user
namespaces. VAULTSYNC_TEST_PROGRAM=dist/main.js selects the programs that npm run build compiled.
`);
  process.exit(values.help === true ? 0 : 2);
}

const settings: SizeSettings = {
  connections: Number(values.connections),
  entries: Number(values.entries),
  seconds: Number(values.seconds),
  limitMiB: Number(values.limit),
  vault: values.vault === "stub" ? "stub" : "server",
  snapshots: values.snapshots,
};
const results: {
  readonly resources: number;
  readonly figures: Readonly<Record<string, number>>;
}[] = [];
for (const resources of values.resources.map(Number)) {
  results.push({ resources, figures: await measureSize(resources, settings) });
  await saveResult(values.output, values, results);
}
const short = (value = Number.NaN): string =>
  value >= 100 ? value.toFixed(0) : value.toPrecision(3);
const names = new Set(results.flatMap(({ figures }) => Object.keys(figures)));
process.stdout.write(
  table([
    ["resources", ...results.map(({ resources }) => String(resources))],
    ...[...names].map((name) => [
      name,
      ...results.map(({ figures }) => short(figures[name]).replace("NaN", "–")),
    ]),
  ]),
);
