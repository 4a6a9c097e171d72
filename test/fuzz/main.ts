import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { expressionTargets } from "./expressions.ts";
import { fuzz, LIMIT_MS, timeOf, type FuzzTarget, type SlowInput } from "./search.ts";
import { ServerTargets } from "./server-targets.ts";
import { render } from "./shape.ts";
import { parserTargets } from "./targets.ts";
import { shapeTargets, templateTargets } from "./template-targets.ts";
import { seededRandom } from "../lab/seeded-random.ts";

const USAGE = `Look for inputs that take longest, in everything of the vault server that parses what a stranger sends, and in the
templates and typed Secrets of the operator. Fails when 1 MiB of input, or the limit of its field, takes more than ${LIMIT_MS} ms of CPU time.

Usage: npm run fuzz -- [--seconds N] [--seed S] [--target TEXT] [--replay FILE]

  --seconds N     CPU time of all targets together; 60 by default
  --seed S        seed of the random inputs; by default another one each time
  --target TEXT   only targets whose name contains TEXT
  --replay FILE   repeat the input in FILE, which an earlier run has written
  --help          show this help
`;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: `${Math.floor(Math.random() * 1e6)}` },
    target: { type: "string", default: "" },
    replay: { type: "string" },
    help: { type: "boolean" },
  },
});

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function replay(targets: readonly FuzzTarget[], file: string): Promise<void> {
  const slow = JSON.parse(await readFile(file, "utf8")) as SlowInput;
  const target = targets.find(({ name }) => name === slow.target);
  if (!target) throw new Error(`no target is named ${slow.target}`);
  const input = render(slow.shape, slow.bytes);
  const ms = await timeOf(target, input);
  print(`${target.name}: ${input.length} bytes take ${ms.toFixed(1)} ms`);
  if (ms > LIMIT_MS) process.exitCode = 1;
}

async function search(
  targets: readonly FuzzTarget[],
  seconds: number,
  seed: number,
): Promise<void> {
  print(`seed ${seed}`);
  for (const [index, target] of targets.entries()) {
    const { inputs, slowest, failure } = await fuzz(target, seededRandom(seed), {
      ms: (seconds * 1000) / targets.length,
    });
    const { ms = 0, bytes = 0 } = slowest ?? {};
    print(
      `${index + 1}/${targets.length} ${target.name}: ${inputs} inputs, at most ${ms.toFixed(1)} ms, for ${bytes} bytes`,
    );
    if (!failure) continue;
    const file = `fuzz-failure-${seed}-${index + 1}.json`;
    await writeFile(file, JSON.stringify(failure, undefined, 1));
    print(`${JSON.stringify(failure.shape)}\nRepeat it with: npm run fuzz -- --replay ${file}`);
    process.exitCode = 1;
  }
}

if (values.help) process.stdout.write(USAGE);
else {
  await using server = await ServerTargets.start();
  const targets = [
    ...parserTargets(),
    ...expressionTargets(),
    ...templateTargets(),
    ...shapeTargets(),
    ...server.list,
  ];
  if (values.replay !== undefined) await replay(targets, values.replay);
  else
    await search(
      targets.filter(({ name }) => name.includes(values.target)),
      Number(values.seconds),
      Number(values.seed),
    );
}
