import type { DemoArguments } from "./arguments.ts";
import { interruption } from "./interruption.ts";
import { prepare } from "./prepare.ts";
import { Preparation } from "./preparation.ts";
import { screen } from "./screen.ts";
import type { Stage } from "./stage.ts";
import { stayUp } from "./stay-up.ts";
import { tellStory } from "./story.ts";
import { bad, dim, good } from "./style.ts";
import { summary } from "./summary.ts";

const logLines = 15;

/** Runs the demo and removes what it started. Answers the exit code: 0, 1 after a failure, 130 when stopped before the story's end. */
export async function runDemo(options: DemoArguments): Promise<number> {
  const stop = interruption();
  const preparation = new Preparation(stop);
  let stage: Stage | undefined;
  try {
    stage = await prepare(options, preparation);
    await tellStory(stage);
    screen.note(`\n${good("✓")} The whole story went as expected.`);
    if (!options.once) await stayUp(stage);
    return 0;
  } catch (error) {
    if (stop.aborted) return 130;
    explain(error, preparation, stage);
    return 1;
  } finally {
    screen.note(dim("\nEnding and removing what the demo started."));
    await preparation[Symbol.asyncDispose]();
  }
}

function explain(error: unknown, { programs }: Preparation, stage: Stage | undefined): void {
  const parts = [`${bad("The demo failed.")}\n${error instanceof Error ? error.message : String(error)}`];
  if (stage !== undefined) parts.push(`What the cluster holds now:\n${summary(stage.view)}`);
  for (const program of programs) {
    const lines = program.lastLines(logLines).map((line) => `  ${line}`);
    parts.push(`The ${program.name}'s last log lines:\n${lines.join("\n")}`);
  }
  screen.note("");
  process.stderr.write(`${parts.join("\n\n")}\n`);
}
