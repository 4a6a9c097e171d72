import { execFile } from "node:child_process";
import { parseArgs, promisify } from "node:util";
import { plant, plantedBugs } from "../test/simulation/planted-bugs.ts";

const USAGE = `Plant known bugs in the operator, one at a time, and print after how many steps the simulation finds each.

Usage: npm run simulation:bugs -- [--bug NAME] [--steps N] [--seeds S,S…]

  --bug NAME      only this bug: ${Object.keys(plantedBugs).join("; ")}
  --steps N       maximum number of steps of one run; 50000 by default
  --seeds S,S…    seeds of the runs of each bug; 1,2,3,4,5 by default
  --help          show this help
`;

const { values } = parseArgs({
  options: {
    bug: { type: "string" },
    steps: { type: "string", default: "50000" },
    seeds: { type: "string", default: "1,2,3,4,5" },
    help: { type: "boolean" },
  },
});

const seeds = values.seeds.split(",").map(Number);

/** Runs the simulation in this process, with the bug, and prints a line for each seed. */
async function runWith(bug: string): Promise<void> {
  plant(bug);
  // After the bug was planted.
  const { simulate } = await import("../test/simulation/simulate.ts");
  for (const seed of seeds) {
    let done = 0;
    const failure = await simulate(Number(values.steps), seed, (steps) => (done = steps));
    const steps = failure && done + failure.commands.length;
    process.stdout.write(`${JSON.stringify({ seed, steps, invariant: failure?.invariant, message: failure?.message })}\n`);
  }
}

async function runAll(): Promise<void> {
  for (const bug of Object.keys(plantedBugs)) {
    const args = [import.meta.filename, "--bug", bug, "--steps", values.steps, "--seeds", values.seeds];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const found = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { steps?: number; invariant?: string });
    const counts = found.map(({ steps = Infinity }) => steps).sort((a, b) => a - b);
    const list = found.map(({ steps, invariant }) => (steps === undefined ? "not found" : `${steps} (${invariant})`)).join(", ");
    process.stdout.write(`${bug}: median ${counts[Math.floor(counts.length / 2)]} steps; ${list}\n`);
  }
}

if (values.help) process.stdout.write(USAGE);
else if (values.bug === undefined) await runAll();
else await runWith(values.bug);
