import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { Redacted } from "../src/lib/redacted.ts";
import { addUser } from "../src/vault-server/accounts/users.ts";
import { VaultServerProcess } from "../test/support/processes/vault-server-process.ts";
import { storeKinds, StoreLocation } from "../test/support/vault/store-location.ts";
import { attacks } from "./attack/attacks.ts";
import { Attacker, type Outcomes } from "./attack/attacker.ts";
import { OrdinaryClients, type Served } from "./attack/ordinary-clients.ts";
import { probeArgs, ServerMeter, type ServerLoad } from "./attack/server-load.ts";
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
    "attacker-nice": { type: "string", default: "0" },
    help: { type: "boolean" },
  },
});
const store = storeKinds.find((kind) => kind === values.store);
if (values.help === true || store === undefined) {
  process.stdout
    .write(`Measure the latency of ordinary clients with and without an attacker, who sends the worst requests of the findings of
docs/design/security.md in a loop.

npm run bench:attack -- [--store sqlite|postgres] [--clients 50] [--seconds 5] [--rounds 3] [--findings 1,7] [--attacker-nice 0]

Exits with 1 when a client gets an error, or when its p99 next to an attacker is 5 times that without one, or more.

  --store     kind of database (default sqlite)
  --clients   number of ordinary clients (default 50)
  --seconds   duration of each measurement (default 5)
  --rounds    number of measurements of each attack, each next to one without it (default 3)
  --findings  numbers of the findings (default: each, and then all together)
  --attacker-nice
              scheduling priority of the attacker's process: 19 approximates an attacker on another machine, who takes no CPU time from
              the server (default 0, that of the server and the clients)
`);
  process.exit(values.help === true ? 0 : 2);
}

/** Factor by which an attacker may increase the p99 of the clients. */
const GOAL = 5;
const CHEAP = { memoryKib: 8, passes: 1, lanes: 1 };
const clientEmails = Array.from({ length: Number(values.clients) }, (_, index) => `client${index}@example.com`);
const attackerEmails = Array.from({ length: 4 }, (_, index) => `attacker${index}@example.com`);

await using place = await StoreLocation.create(store);
{
  await using accounts = await place.open();
  for (const email of [...clientEmails, ...attackerEmails])
    await addUser(accounts, email, new Redacted(email), Date.now(), CHEAP);
}
await using server = await VaultServerProcess.start(place.args, { nodeArgs: probeArgs });
using clients = await OrdinaryClients.open(server.url, clientEmails);
using attacker = await Attacker.start(server.url, Number(values["attacker-nice"]));
const meter = new ServerMeter(server);

const single = attacks.map(({ finding }) => [finding]);
const sets = values.findings === undefined ? [...single, single.flat()] : [values.findings.split(",").map(Number)];
const forMs = Number(values.seconds) * 1000;
const ms = (samples: readonly number[], share: number): number =>
  quantile(
    samples.toSorted((a, b) => a - b),
    share,
  );

/** Experience of the clients, and the server's load, in all rounds of one kind. */
interface Side {
  readonly served: Served;
  readonly loads: ServerLoad[];
}

async function measureSide({ served, loads }: Side): Promise<void> {
  const [load] = await meter.during(() => clients.run(forMs, served));
  loads.push(load);
}

const countOf = (outcomes: readonly Outcomes[]): number =>
  outcomes.flatMap((each) => Object.values(each).flatMap((own) => Object.values(own))).reduce((sum, count) => sum + count, 0);
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

function summaryOf({ served: { latencies, errors }, loads }: Side) {
  return {
    requests: latencies.length,
    p50: ms(latencies, 0.5),
    p99: ms(latencies, 0.99),
    max: ms(latencies, 1),
    errors,
    /** CPU of the server in percent of one core. */
    cpu: (sumOf(loads.map(({ cpuMs }) => cpuMs)) / (loads.length * forMs)) * 100,
    longestTurn: Math.max(...loads.map(({ turnMs }) => turnMs)),
    delayP99: Math.max(...loads.map(({ delayP99Ms }) => delayP99Ms)),
    delayMax: Math.max(...loads.map(({ delayMaxMs }) => delayMaxMs)),
  };
}

const newSide = (): Side => ({ served: { latencies: [], errors: {} }, loads: [] });

async function measure(findings: readonly number[]) {
  const [before, during] = [newSide(), newSide()];
  const outcomes: Outcomes[] = [];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    await measureSide(before);
    const [, sent] = await attacker.during(findings, () => measureSide(during));
    outcomes.push(sent);
  }
  process.stderr.write(`findings ${findings.join(", ")}: ${JSON.stringify(outcomes)}\n`);
  const [undisturbed, attacked] = [summaryOf(before), summaryOf(during)];
  const perSecond = countOf(outcomes) / (Number(values.rounds) * Number(values.seconds));
  const ratio = attacked.p99 / undisturbed.p99;
  const cpuMsPerAttack = ((attacked.cpu - undisturbed.cpu) * 10) / perSecond;
  return { findings, undisturbed, attacked, ratio, attacksPerSecond: perSecond, cpuMsPerAttack, outcomes };
}

await clients.run(forMs, { latencies: [], errors: {} });
const rows: Awaited<ReturnType<typeof measure>>[] = [];
for (const findings of sets) rows.push(await measure(findings));

const nameOf = (findings: readonly number[]): string =>
  findings.length === 1 ? `${findings[0]} ${attacks.find(({ finding }) => finding === findings[0])?.name}` : "all together";
process.stdout.write(
  table([
    [
      "attack",
      "alone p99 ms",
      "p99 ms",
      "ratio",
      "errors",
      "attacks/s",
      "CPU %",
      "alone %",
      "CPU ms/attack",
      "turn ms",
      "alone",
      "delay p99",
    ],
    ...rows.map(({ findings, undisturbed, attacked, ratio, attacksPerSecond, cpuMsPerAttack }) => [
      nameOf(findings),
      undisturbed.p99.toFixed(1),
      attacked.p99.toFixed(1),
      ratio.toFixed(2),
      JSON.stringify(attacked.errors),
      attacksPerSecond.toFixed(0),
      attacked.cpu.toFixed(0),
      undisturbed.cpu.toFixed(0),
      cpuMsPerAttack.toFixed(2),
      attacked.longestTurn.toFixed(1),
      undisturbed.longestTurn.toFixed(1),
      attacked.delayP99.toFixed(1),
    ]),
  ]),
);
await saveResult(`attack-${store}`, { ...values, loadAverage: loadavg()[0] }, rows);
const failed = rows.some(({ ratio, attacked }) => ratio >= GOAL || Object.keys(attacked.errors).length > 0);
if (failed) process.exitCode = 1;
