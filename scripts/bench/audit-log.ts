import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { AuditLog } from "../../src/vault/server/audit/audit-log.ts";
import type { Case } from "./measure.ts";
import { measureAll, printTable } from "./report.ts";
import { saveResult } from "./result-file.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "1" },
    repeats: { type: "string", default: "5" },
    help: { type: "boolean" },
  },
});
if (values.help === true) {
  process.stdout
    .write(`Measure the throughput of the audit log on this disk: one fsync per line, and fsyncs shared by concurrent lines.

npm run bench -- audit [--seconds 1] [--repeats 5]

  --seconds  duration of each case in each repeat (default 1)
  --repeats  number of repeats after a warm-up (default 5)
`);
  process.exit(0);
}
const settings = { seconds: Number(values.seconds), repeats: Number(values.repeats) };

const directory = await mkdtemp(join(tmpdir(), "vaultsync-bench-audit-"));
await using owned = new AsyncDisposableStack();
owned.defer(() => rm(directory, { recursive: true, force: true }));
const line = {
  operation: "expose",
  phase: "end",
  who: "ann@example.com",
  about: { key_name: "shop-db" },
  status: 200,
  error: null,
};
const openLog = async (name: string, more: { linesPerSync?: number }): Promise<AuditLog> =>
  owned.use(
    await AuditLog.open({
      file: join(directory, name),
      clock: systemClock,
      logger: silentLogger,
      ...more,
    }),
  );
const alone = await openLog("alone", { linesPerSync: 1 });
const shared = await openLog("shared", {});
const cases = [1, 32, 200].flatMap((clients): Case[] => [
  {
    name: `${clients}, alone`,
    baseline: `${clients}, alone`,
    concurrency: clients,
    run: () => alone.append(line),
  },
  {
    name: `${clients}, sharing`,
    baseline: `${clients}, alone`,
    concurrency: clients,
    run: () => shared.append(line),
  },
]);
const result = await measureAll(cases, settings);
printTable(result);
await saveResult("audit-log", settings, result);
