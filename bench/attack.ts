import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { Redacted } from "../src/lib/redacted.ts";
import { addUser } from "../src/vault-server/accounts/users.ts";
import { openStore } from "../src/vault-server/store/open-store.ts";
import { VaultServerProcess } from "../test/support/processes/vault-server-process.ts";
import { storeKinds, StoreLocation } from "../test/support/vault/store-location.ts";
import { attacks } from "./attack/attacks.ts";
import { OrdinaryClients, type Served } from "./attack/ordinary-clients.ts";
import { saveResult } from "./report.ts";
import { quantile } from "./statistics.ts";
import { table } from "./table.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    clients: { type: "string", default: "50" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    findings: { type: "string" },
    help: { type: "boolean" },
  },
});
const store = storeKinds.find((kind) => kind === values.store);
if (values.help === true || store === undefined) {
  process.stdout
    .write(`Measure the latency of ordinary clients with and without an attacker, who sends the worst requests of the findings of
docs/design/security.md in a loop.

npm run bench:attack -- [--store sqlite|postgres] [--clients 50] [--seconds 5] [--rounds 3] [--findings 1,7]

Exits with 1 when a client gets an error, or when its p99 next to an attacker is 5 times that without one, or more.

  --store     kind of database (default sqlite)
  --clients   number of ordinary clients (default 50)
  --seconds   duration of each measurement (default 5)
  --rounds    number of measurements of each attack, each next to one without it (default 3)
  --findings  numbers of the findings (default: each, and then all together)
`);
  process.exit(values.help === true ? 0 : 2);
}

/** Factor by which an attacker may increase the p99 of the clients. */
const GOAL = 5;
const SETTLE_MS = 1_000;
const CHEAP = { memoryKib: 8, passes: 1, lanes: 1 };
const clientEmails = Array.from({ length: Number(values.clients) }, (_, index) => `client${index}@example.com`);
const attackerEmails = Array.from({ length: 4 }, (_, index) => `attacker${index}@example.com`);

await using place = await StoreLocation.create(store);
{
  await using accounts = await openStore(place.data);
  for (const email of [...clientEmails, ...attackerEmails])
    await addUser(accounts, email, new Redacted(email), Date.now(), CHEAP);
}
await using server = await VaultServerProcess.start(place.args);
using clients = await OrdinaryClients.open(server.url, clientEmails);
const attacker = fork(join(import.meta.dirname, "attack-process.ts"), [server.url]);
using _stopped = { [Symbol.dispose]: () => attacker.kill() };
await once(attacker, "message");

const single = attacks.map(({ finding }) => [finding]);
const sets = values.findings === undefined ? [...single, single.flat()] : [values.findings.split(",").map(Number)];
const forMs = Number(values.seconds) * 1000;
const ms = (samples: readonly number[], share: number): number =>
  quantile(
    samples.toSorted((a, b) => a - b),
    share,
  );

interface Measured {
  readonly findings: readonly number[];
  readonly undisturbed: Served;
  readonly attacked: Served;
  readonly outcomes: Readonly<Record<string, unknown>>[];
}

async function attackDuring<T>(findings: readonly number[], work: () => Promise<T>): Promise<[T, Record<string, unknown>]> {
  attacker.send({ findings });
  await sleep(SETTLE_MS);
  const result = await work();
  attacker.send("stop");
  const [outcomes] = (await once(attacker, "message")) as [Record<string, unknown>];
  await sleep(SETTLE_MS);
  return [result, outcomes];
}

async function measure(findings: readonly number[]): Promise<Measured> {
  const [undisturbed, attacked]: [Served, Served] = [
    { latencies: [], errors: {} },
    { latencies: [], errors: {} },
  ];
  const outcomes: Record<string, unknown>[] = [];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    await clients.run(forMs, undisturbed);
    const [, sent] = await attackDuring(findings, () => clients.run(forMs, attacked));
    outcomes.push(sent);
  }
  process.stderr.write(`findings ${findings.join(", ")}: ${JSON.stringify(outcomes)}\n`);
  return { findings, undisturbed, attacked, outcomes };
}

await clients.run(forMs, { latencies: [], errors: {} });
const results: Measured[] = [];
for (const findings of sets) results.push(await measure(findings));
const rows = results.map(({ findings, undisturbed, attacked, outcomes }) => {
  const [before, during] = [undisturbed, attacked].map(({ latencies }) => ({
    requests: latencies.length,
    p50: ms(latencies, 0.5),
    p99: ms(latencies, 0.99),
    max: ms(latencies, 1),
  })) as [Summary, Summary];
  return { findings, undisturbed: before, attacked: during, ratio: during.p99 / before.p99, errors: attacked.errors, outcomes };
});
interface Summary {
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const nameOf = (findings: readonly number[]): string =>
  findings.length === 1 ? `${findings[0]} ${attacks.find(({ finding }) => finding === findings[0])?.name}` : "all together";
const cells = ({ p50, p99, max }: Summary): string[] => [p50, p99, max].map((value) => value.toFixed(1));
process.stdout.write(
  table([
    ["attack", "p50 ms", "p99 ms", "max ms", "p50 ms", "p99 ms", "max ms", "p99 ratio", "errors"],
    ...rows.map((row) => [
      nameOf(row.findings),
      ...cells(row.undisturbed),
      ...cells(row.attacked),
      row.ratio.toFixed(2),
      JSON.stringify(row.errors),
    ]),
  ]),
);
await saveResult(`attack-${store}`, { ...values, loadAverage: loadavg()[0] }, rows);
if (rows.some(({ ratio, errors }) => ratio >= GOAL || Object.keys(errors).length > 0)) process.exitCode = 1;
