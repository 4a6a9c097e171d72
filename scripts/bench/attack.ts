import { loadavg } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { storeKinds, type StoreKind } from "../../test/lab/vault/store-location.ts";
import type { AttackCase } from "./attack/attack-case.ts";
import { cases } from "./attack/cases.ts";
import { measureCases, type CaseResult } from "./attack/measure-case.ts";
import { Scene } from "./attack/scene.ts";
import { saveResult } from "./result-file.ts";
import { table } from "./table.ts";
import { messageOf } from "../../src/lib/errors.ts";

const TOGETHER = "all-together";
const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    cases: { type: "string", default: [...cases.map(({ name }) => name), TOGETHER].join() },
    clients: { type: "string", default: "50" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    program: { type: "string" },
    "attacker-nice": { type: "string", default: "0" },
    output: { type: "string" },
    help: { type: "boolean" },
  },
});
const store = storeKinds.find((kind) => kind === values.store);
const chosen = values.cases.split(",");
const unknown = chosen.filter(
  (name) => name !== TOGETHER && !cases.some((each) => each.name === name),
);
if (values.help === true || store === undefined || unknown.length > 0) {
  if (unknown.length > 0) process.stderr.write(`unknown case: ${unknown.join(", ")}\n`);
  process.stdout
    .write(`Measure the latency of ordinary clients with and without an attacker, who sends the worst requests of one case in a loop.

npm run bench -- attack [--store sqlite|postgres] [--cases a,b] [--seconds 5] [--rounds 3] [--clients 50] [--program PATH]
    [--attacker-nice 0] [--output attack-sqlite]

Each case has a server of its own, with default limits and the heap of its container. Exits with 1 when a client or a probe gets an error, when
a p99 next to an attack is five times that without it, or more, when a turn of the server takes 100 ms of CPU time, when the server takes 512 MiB
or dies, or when a case misses a goal of its own.

  --store     kind of database (default sqlite)
  --cases     names of cases (default all):
${cases.map(({ name, title }) => `                ${name.padEnd(18)} ${title}`).join("\n")}
                ${TOGETHER.padEnd(18)} all of them at the same time
  --seconds   duration of each measurement (default 5)
  --rounds    number of measurements of each case, each next to one without it (default 3)
  --clients   number of ordinary clients (default 50)
  --program   main file of another build of the server, such as /tmp/before/src/main.ts
  --attacker-nice
              scheduling priority of the attacker's process: 19 approximates an attacker on another machine, who takes no CPU time from
              the server (default 0, like the server and the clients)
  --output    name of the result in scripts/bench/results
`);
  process.exit(values.help === true ? 0 : 2);
}

const settings = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  progress: (text: string): void => void process.stderr.write(`${text}\n`),
};
/** Everything that the current case has started. */
let running = new AsyncDisposableStack();
const stopped = { bySignal: false };
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    stopped.bySignal = true;
    void running.disposeAsync().finally(() => process.exit(signal === "SIGINT" ? 130 : 143));
  });

/** A case that could not be measured to its end, with the reason. */
interface Ended {
  readonly name: string;
  readonly misses: readonly string[];
}

async function measure(
  name: string,
  attacks: readonly AttackCase[],
  kind: StoreKind,
): Promise<CaseResult | Ended> {
  running = new AsyncDisposableStack();
  await using _owned = running;
  const options = {
    store: kind,
    clients: Number(values.clients),
    nice: Number(values["attacker-nice"]),
    program: values.program === undefined ? undefined : resolve(values.program),
  };
  settings.progress(`${name}: starting`);
  let scene: Scene | undefined;
  try {
    scene = await Scene.start(attacks, options, running);
    return await measureCases(scene, attacks, name, settings);
  } catch (error) {
    const reason = messageOf(error);
    const death = await scene?.death();
    return { name, misses: [death ?? `ended: ${reason.replaceAll(/\s+/gu, " ").slice(0, 200)}`] };
  }
}

const results: (CaseResult | Ended)[] = [];
for (const name of chosen) {
  const attacks = name === TOGETHER ? cases : cases.filter((each) => each.name === name);
  const result = await measure(name, attacks, store);
  // The process exits when everything is stopped.
  if (stopped.bySignal) await new Promise(() => undefined);
  results.push(result);
  settings.progress(`${name}: ${result.misses.join("; ") || "reaches its goals"}`);
  await saveResult(
    values.output ?? `attack-${store}`,
    { ...values, loadAverage: loadavg()[0] },
    results,
  );
}

const ms = (value: number): string => (Number.isNaN(value) ? "" : value.toFixed(1));
const counts = (all: Readonly<Record<string, number>>): string =>
  Object.entries(all)
    .map(([outcome, count]) => `${count}×${outcome}`)
    .join(" ");
const columns = [
  "p50 alone",
  "p50",
  "p99 alone",
  "p99",
  "ratio",
  "probe alone",
  "probe",
  "ratio",
  "turn",
  "MiB",
  "log KiB/s",
];
process.stdout.write(
  table([
    ["case (ms)", ...columns],
    ...results.map((result) => {
      if (!("alone" in result)) return [result.name, ...columns.map(() => "–")];
      const { alone, attacked, ratio, probeRatio, peakMib, logBytesPerSecond } = result;
      return [
        result.name,
        ...[alone.clients.p50, attacked.clients.p50, alone.clients.p99, attacked.clients.p99].map(
          ms,
        ),
        ratio.toFixed(2),
        ...(probeRatio === undefined
          ? ["", "", ""]
          : [ms(alone.probes.p99), ms(attacked.probes.p99), probeRatio.toFixed(2)]),
        ms(attacked.longestTurn),
        peakMib.toFixed(0),
        (logBytesPerSecond / 1024).toFixed(0),
      ];
    }),
  ]),
);
for (const result of results) {
  process.stdout.write(`\n${result.name}\n`);
  if ("attacks" in result)
    process.stdout.write(`  requests of the attack: ${counts(result.attacks)}\n`);
  process.stdout.write(
    `  ${result.misses.length === 0 ? "reaches its goals" : `misses: ${result.misses.join("; ")}`}\n`,
  );
}
if (results.some(({ misses }) => misses.length > 0)) process.exitCode = 1;
