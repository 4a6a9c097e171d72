import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import type { Command } from "./commands.ts";
import { EpisodeThread, type EpisodeThreadOptions } from "./episode-thread.ts";
import { PairCounts } from "./pairs.ts";
import type { PushCommand } from "./pushes/push-commands.ts";
import { runPushEpisode } from "./pushes/push-episode.ts";
import {
  commandsOf,
  EPISODE_STEPS,
  type Failure,
  runEpisode,
  seedOfEpisode,
  shrink,
  simulate,
} from "./simulate.ts";
import { messageOf } from "../../src/lib/errors.ts";

const USAGE = `Run the whole operator against simulated vaults and a simulated cluster, with random commands and faults, and check after
every step that no invariant of docs/design/faults.md is violated.

Usage: npm run simulation -- [--pushes] [--steps N] [--seed S] [--from EPISODE] [--all] [--workers N]
       npm run simulation -- [--pushes] --replay FILE
       npm run simulation -- --pairs [--steps N] [--seed S]

  --steps N       number of steps; 100000 by default
  --seed S        seed of the random commands; by default another one each time
  --from EPISODE  number of the first episode of 400 steps; 0 by default
  --all           continue after a violation: name each episode with one, and shorten none
  --workers N     number of threads; one for each core by default. The result does not depend on it
  --pushes        simulate VaultPushes instead of VaultSecrets and VaultFiles
  --replay FILE   repeat the failure in FILE, which an earlier run has written
  --pairs         print in how many episodes of the run each pair of features occurs, without running them
  --help          show this help

A violation is shortened to as few commands as possible and written to a file in the current directory.
Exit codes: 0 without a violation, 1 with one, 2 for wrong arguments.
`;

/** Time for finding a shorter sequence that fails, in milliseconds. */
const SHRINK_MS = 120_000;
const PROGRESS_MS = 10_000;
const MAX = 1e9;
const MAX_WORKERS = 1_000;

class UsageError extends Error {}

function parseOptions() {
  try {
    const { values } = parseArgs({
      options: {
        steps: { type: "string", default: "100000" },
        seed: { type: "string", default: `${Math.floor(Math.random() * 1e6)}` },
        from: { type: "string", default: "0" },
        all: { type: "boolean", default: false },
        workers: { type: "string", default: `${availableParallelism()}` },
        replay: { type: "string" },
        pairs: { type: "boolean" },
        pushes: { type: "boolean", default: false },
        help: { type: "boolean" },
      },
    });
    return values;
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

/** @throws UsageError unless the text is a whole number in the range */
function wholeNumber(
  option: string,
  text: string,
  [least, most]: readonly [number, number],
): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new UsageError(`${option} ${text}: expected a whole number from ${least} to ${most}`);
}

/** @throws UsageError unless the file contains a failure */
async function readFailure<C>(file: string): Promise<Pick<Failure<C>, "seed" | "commands">> {
  let failure: Partial<Failure<C>> | null;
  try {
    failure = JSON.parse(await readFile(file, "utf8")) as Partial<Failure<C>> | null;
  } catch (error) {
    throw new UsageError(`--replay ${file}: cannot be read as JSON: ${messageOf(error)}`);
  }
  const { seed, commands } = failure ?? {};
  if (typeof seed === "number" && Array.isArray(commands)) return { seed, commands };
  throw new UsageError(
    `--replay ${file}: expected a seed and commands, as a run with a violation writes them`,
  );
}

async function report(failure: Failure<unknown>, option = ""): Promise<void> {
  const file = `simulation-failure-${failure.seed}.json`;
  await writeFile(file, JSON.stringify(failure, undefined, 1));
  process.stdout.write(
    `${failure.message}\n\n${failure.commands.map((command) => JSON.stringify(command)).join("\n")}\n\n` +
      `Repeat it with: npm run simulation -- ${option}--replay ${file}\n`,
  );
  process.exitCode = 1;
}

async function replay<C>(file: string, { run, option }: Simulation<C>): Promise<void> {
  const { seed, commands } = await readFailure<C>(file);
  const failure = await run(seed, commands);
  if (failure) await report(failure, option);
  else process.stdout.write("no invariant is violated\n");
}

/** Prints the pairs of features of the commands of a run. */
function printPairs(steps: number, seed: number): void {
  const counts = new PairCounts();
  for (let index = 0; index * EPISODE_STEPS < steps; index += 1) {
    const of = seedOfEpisode(seed, index);
    counts.add({
      seed: of,
      commands: commandsOf(of, Math.min(EPISODE_STEPS, steps - index * EPISODE_STEPS)),
    });
  }
  const missing = counts.missing();
  process.stdout.write(
    `seed ${seed}, ${steps} steps: episodes with each pair of features; - for what no user can write\n\n`,
  );
  process.stdout.write(
    `${counts.table()}\n\n${missing.length} pairs are in no episode\n${missing.map((pair) => `${pair}\n`).join("")}`,
  );
}

/** Kind of the episodes of a run. */
interface Simulation<C> {
  readonly run: (seed: number, commands: readonly C[]) => Promise<Failure<C> | undefined>;
  readonly options: EpisodeThreadOptions;
  /** The option of the command line. */
  readonly option: string;
}

const syncs: Simulation<Command> = { run: runEpisode, options: {}, option: "" };
const pushesOnly: Simulation<PushCommand> = {
  run: runPushEpisode,
  options: { pushes: true },
  option: "--pushes ",
};

interface Search {
  readonly steps: number;
  readonly seed: number;
  readonly from: number;
  readonly workers: number;
  readonly all: boolean;
}

async function search<C>(
  { run, options, option }: Simulation<C>,
  { steps, seed, from, workers, all }: Search,
): Promise<void> {
  process.stdout.write(`seed ${seed}, ${steps} steps, ${workers} workers\n`);
  await using threads = new AsyncDisposableStack();
  const runners = Array.from(
    { length: workers },
    () => threads.use(new EpisodeThread<C>(options)).run,
  );
  const start = performance.now();
  let shown = start;
  const name = (episode: number, { message }: Pick<Failure, "message">): void =>
    void process.stdout.write(`seed ${seed}, episode ${episode}: ${message}\n`);
  const onProgress = (done: number): void => {
    const now = performance.now();
    if (now - shown < PROGRESS_MS && done < steps) return;
    shown = now;
    const seconds = (now - start) / 1_000;
    process.stdout.write(
      `${done} of ${steps} steps in ${seconds.toFixed(0)} s, ${Math.round(done / seconds)} per second\n`,
    );
  };
  const failure = await simulate(
    { steps, seed, from, onProgress, ...(all && { onFailure: name }) },
    runners,
  );
  if (!failure) return void process.stdout.write("no invariant is violated\n");
  if (all) return void (process.exitCode = 1);
  name(failure.seed - seedOfEpisode(seed, 0), failure);
  const { length } = failure.commands;
  process.stdout.write(`looking for a shorter sequence than ${length} commands\n`);
  await report(
    await shrink(failure, SHRINK_MS, (count) => process.stdout.write(`${count} commands\n`), run),
    option,
  );
}

try {
  const { help, replay: file, pairs, pushes, all, steps, seed, from, workers } = parseOptions();
  if (help === true) process.stdout.write(USAGE);
  else if (file !== undefined) await (pushes ? replay(file, pushesOnly) : replay(file, syncs));
  else if (pairs === true)
    printPairs(wholeNumber("--steps", steps, [1, MAX]), wholeNumber("--seed", seed, [0, MAX]));
  else {
    const options = {
      steps: wholeNumber("--steps", steps, [1, MAX]),
      seed: wholeNumber("--seed", seed, [0, MAX]),
      from: wholeNumber("--from", from, [0, MAX]),
      workers: wholeNumber("--workers", workers, [1, MAX_WORKERS]),
      all,
    };
    await (pushes ? search(pushesOnly, options) : search(syncs, options));
  }
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(
    `error: ${error.message}\nnpm run simulation -- --help shows the options.\n`,
  );
  process.exitCode = 2;
}
