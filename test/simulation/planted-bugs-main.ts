import { parseArgs } from "node:util";
import { EpisodeThread } from "./episode-thread.ts";
import { type Finding, findPlantedBug } from "./find-planted-bug.ts";
import { isPushBug, plantedBugs } from "./planted-bugs.ts";

const USAGE = `Plant known bugs in the operator, one at a time, and print after how many random steps the simulation finds each. The control
runs the same steps without the bug, up to the violation: one there is not due to it.

Usage: npm run simulation:bugs -- [--bug NAME] [--steps N] [--seeds S,S…]

  --bug NAME      only this bug: ${Object.keys(plantedBugs).join("; ")}
  --steps N       maximum number of steps of one run; 50000 by default
  --seeds S,S…    seeds of the runs of each bug; 1,2,3,4,5 by default
  --help          show this help

Exit codes: 0 if each seed finds each bug, 1 otherwise.
`;

const { values } = parseArgs({
  options: {
    bug: { type: "string" },
    steps: { type: "string", default: "50000" },
    seeds: { type: "string", default: "1,2,3,4,5" },
    help: { type: "boolean" },
  },
});

function row(bug: string, findings: readonly Finding[]): string {
  const invariants = new Set(findings.flatMap(({ violation }) => violation?.split(":")[0] ?? []));
  const steps = findings.map((finding) => finding.steps ?? "not found");
  const dirty = findings.flatMap(({ control }) => control);
  return `| ${bug} | ${steps.join(" | ")} | ${[...invariants].join(", ")} | ${dirty.length === 0 ? "clean" : dirty.join("; ")} |\n`;
}

async function main(): Promise<void> {
  const seeds = values.seeds.split(",").map(Number);
  const bugs = values.bug === undefined ? Object.keys(plantedBugs) : [values.bug];
  process.stdout.write(
    `| Bug | ${seeds.map((seed) => `Seed ${seed}`).join(" | ")} | Violated | Control |\n`,
  );
  process.stdout.write(`|---|${"---:|".repeat(seeds.length)}---|---|\n`);
  await using control = new EpisodeThread();
  await using pushControl = new EpisodeThread({ pushes: true });
  for (const bug of bugs) {
    const pushes = isPushBug(bug);
    await using thread = new EpisodeThread({ bug, pushes });
    const findings: Finding[] = [];
    for (const seed of seeds) {
      findings.push(
        await findPlantedBug(
          bug,
          { seed, steps: Number(values.steps) },
          { broken: thread.run, intact: pushes ? pushControl.run : control.run },
        ),
      );
    }
    process.stdout.write(row(bug, findings));
    if (findings.some(({ steps }) => steps === undefined)) process.exitCode = 1;
  }
}

if (values.help) process.stdout.write(USAGE);
else await main();
