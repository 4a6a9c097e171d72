import { help, parseDemoArguments, type DemoArguments } from "./demo/arguments.ts";
import { runDemo } from "./demo/run-demo.ts";

function fromCommandLine(): DemoArguments | string {
  try {
    return parseDemoArguments(process.argv.slice(2));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const options = fromCommandLine();
if (typeof options === "string") {
  process.stderr.write(`${options}\n\n${help}`);
  process.exitCode = 2;
} else if (options.help) {
  process.stdout.write(help);
} else {
  // Not process.exitCode: a control plane that is still being built when Ctrl-C comes would keep this process.
  process.exit(await runDemo(options));
}
