import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { waitUntil } from "../test/support/clock/wait-until.ts";
import { residentMiB } from "./operator/process-usage.ts";
import { Stage, workOf } from "./operator/stage.ts";
import { saveResult } from "./report.ts";
import { table } from "./table.ts";

const { values } = parseArgs({
  options: {
    resources: { type: "string", multiple: true, default: ["0", "1000"] },
    seconds: { type: "string", default: "30" },
    limit: { type: "string", default: "512" },
    help: { type: "boolean" },
  },
});
if (values.help === true) {
  process.stdout.write(`Measure the memory of the operator, and of the vault that it reads.

npm run bench:memory -- [--resources 1000]… [--seconds 30] [--limit 512]

  --resources  number of resources of a cold start (default 0 and 1000)
  --seconds    time without changes before the measurement (default 30)
  --limit      limit of the operator's memory in MiB: Node uses half of it for its heap, as in a container (default 512)

VAULTSYNC_TEST_PROGRAM=dist/main.js selects the programs that npm run build compiled.
`);
  process.exit(0);
}

const EMAIL = "ops@example.com";
const CONNECTION = "vault";

type Memory = Awaited<ReturnType<typeof residentMiB>>;

/** Starts an operator with as many resources, waits until all are Ready and then idle, and measures both processes. */
async function measure(stage: Stage, count: number): Promise<{ readonly operator: Memory; readonly vault: Memory }> {
  const namespace = await stage.plane.createNamespace("memory");
  const names = Array.from({ length: count }, (_, index) => `m${count}-${index}`);
  await stage.fill(await stage.client(EMAIL), names);
  if (count > 0) await stage.connections(namespace, new Map([[CONNECTION, { email: EMAIL }]]));
  await stage.secrets(namespace, CONNECTION, names);
  await using operator = await stage.operator([namespace], { nodeArgs: [`--max-old-space-size=${Number(values.limit) / 2}`] });
  const isDone = async (): Promise<boolean> =>
    count === 0 || ((await workOf(operator, count)).isQuiet && (await stage.readyCount("VaultSecret", namespace)) === count);
  await waitUntil(`${count} resources are Ready`, isDone, 1_800_000, 500);
  await sleep(Number(values.seconds) * 1000);
  return { operator: await residentMiB(operator.pid), vault: await residentMiB(stage.vault.pid) };
}

await using stage = await Stage.start([EMAIL]);
const result = [];
for (const count of values.resources.map(Number)) result.push({ count, ...(await measure(stage, count)) });
const cells = ({ now, peak }: Memory): string[] => [now.toFixed(0), peak.toFixed(0)];
process.stdout.write(
  table([
    ["resources", "operator, MiB", "its peak, MiB", "vault, MiB", "its peak, MiB"],
    ...result.map(({ count, operator, vault }) => [String(count), ...cells(operator), ...cells(vault)]),
  ]),
);
await saveResult("memory", values, result);
