#!/usr/bin/env node
import { type Command, CommanderError } from "commander";
import { rootCommand } from "./command-line/root-command.ts";

/**
 * Loads the commands. The operator, which runs in every cluster, is loaded alone: the others, with
 * the vault server, take 16 MiB.
 */
async function program(): Promise<Command> {
  if (process.argv[2] === "operator")
    return rootCommand([(await import("./operator/cli/operator.ts")).operatorCommand()]);
  return (await import("./program.ts")).program();
}

/** Exit codes: 0 success, 1 failure, 2 wrong usage. */
try {
  await (await program()).parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has already printed the help or the usage error.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    process.stderr.write(`vaultsync: ${error instanceof Error ? error.message : "failed"}\n`);
    process.exitCode = 1;
  }
}
