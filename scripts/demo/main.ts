import { help, parseDemoArguments, type DemoArguments } from "./arguments.ts";
import { interruption } from "./interruption.ts";
import { nextSteps, stayUp } from "./next-steps.ts";
import { bad, dim, good, screen, summary } from "./output.ts";
import { Preparation } from "./preparation.ts";
import { setUp, type Stage } from "./setup.ts";
import { runStory } from "./story.ts";

const logLines = 15;

function fromCommandLine(): DemoArguments | string {
  try {
    return parseDemoArguments(process.argv.slice(2));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Runs the demo and removes what it started. Returns the exit code: 0, 1 after a failure, 130 when
 * interrupted during the story.
 */
async function runDemo(options: DemoArguments): Promise<number> {
  const stop = interruption();
  const preparation = new Preparation(stop);
  let stage: Stage | undefined;
  try {
    stage = await setUp(options, preparation);
    await runStory(stage);
    screen.note(`\n${good("✓")} All steps passed.`);
    if (options.once) screen.note(nextSteps);
    else await stayUp(stage);
    return 0;
  } catch (error) {
    if (stop.aborted) return 130;
    explain(error, preparation, stage);
    return 1;
  } finally {
    screen.note(dim("\nStopping and removing everything the demo started."));
    await preparation[Symbol.asyncDispose]();
  }
}

function explain(error: unknown, { processes }: Preparation, stage: Stage | undefined): void {
  const parts = [
    `${bad("The demo failed.")}\n${error instanceof Error ? error.message : String(error)}`,
  ];
  if (stage !== undefined) parts.push(`State of the cluster:\n${summary(stage.view)}`);
  for (const [name, { stderr }] of processes) {
    const lines = stderr.trimEnd().split("\n").slice(-logLines);
    parts.push(`Last log lines of the ${name}:\n${lines.map((line) => `  ${line}`).join("\n")}`);
  }
  screen.note("");
  process.stderr.write(`${parts.join("\n\n")}\n`);
}

const options = fromCommandLine();
if (typeof options === "string") {
  process.stderr.write(`${options}\n\n${help}`);
  process.exitCode = 2;
} else if (options.help) {
  process.stdout.write(help);
} else {
  // Not process.exitCode: a control plane that is still being built at Ctrl-C would keep this
  // process alive.
  process.exit(await runDemo(options));
}
