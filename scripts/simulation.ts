import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { type Failure, runEpisode, shrink, simulate } from "../test/simulation/simulate.ts";

const USAGE = `Run the whole operator against simulated vaults and a simulated cluster, with random commands and faults, and check after
every step that no invariant of docs/design/faults.md is violated.

Usage: npm run simulation -- [--steps N] [--seed S] [--replay FILE]

  --steps N       number of steps; 100000 by default
  --seed S        seed of the random commands; by default another one each time
  --replay FILE   repeat the failure in FILE, which an earlier run has written
  --help          show this help
`;

/** Time for finding a shorter sequence that fails, in milliseconds. */
const SHRINK_MS = 120_000;
const PROGRESS_MS = 10_000;

const { values } = parseArgs({
  options: {
    steps: { type: "string", default: "100000" },
    seed: { type: "string", default: `${Math.floor(Math.random() * 1e6)}` },
    replay: { type: "string" },
    help: { type: "boolean" },
  },
});

async function report(failure: Failure): Promise<void> {
  const file = `simulation-failure-${failure.seed}.json`;
  await writeFile(file, JSON.stringify(failure, undefined, 1));
  process.stdout.write(
    `${failure.message}\n\n${failure.commands.map((command) => JSON.stringify(command)).join("\n")}\n\n` +
      `Repeat it with: npm run simulation -- --replay ${file}\n`,
  );
  process.exitCode = 1;
}

async function replay(file: string): Promise<void> {
  const { seed, commands } = JSON.parse(await readFile(file, "utf8")) as Failure;
  const failure = await runEpisode(seed, commands);
  if (failure) await report(failure);
  else process.stdout.write("no invariant is violated\n");
}

async function search(steps: number, seed: number): Promise<void> {
  const start = performance.now();
  let shown = start;
  const failure = await simulate(steps, seed, (done) => {
    const now = performance.now();
    if (now - shown < PROGRESS_MS && done < steps) return;
    shown = now;
    process.stdout.write(`${done} of ${steps} steps, ${Math.round(done / ((now - start) / 1_000))} per second\n`);
  });
  if (!failure) return;
  process.stdout.write(
    `seed ${seed}: ${failure.message}\nlooking for a shorter sequence than ${failure.commands.length} commands\n`,
  );
  await report(await shrink(failure, SHRINK_MS, (count) => process.stdout.write(`${count} commands\n`)));
}

if (values.help) process.stdout.write(USAGE);
else if (values.replay !== undefined) await replay(values.replay);
else {
  process.stdout.write(`seed ${values.seed}\n`);
  await search(Number(values.steps), Number(values.seed));
}
