#!/usr/bin/env node
import { CommanderError } from "commander";
import { program } from "./cli/program.ts";

/** Exit codes: 0 all well, 1 it failed, 2 wrong usage. */
try {
  await program().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed the help or what is wrong.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    process.stderr.write(`vaultsync: ${error instanceof Error ? error.message : "failed"}\n`);
    process.exitCode = 1;
  }
}
