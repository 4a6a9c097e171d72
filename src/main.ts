#!/usr/bin/env node
import { CommanderError } from "commander";
import { program } from "./program.ts";
import { messageOf } from "./lib/errors.ts";

/** Exit codes: 0 success, 1 failure, 2 wrong usage. */
try {
  await program().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has already printed the help or the usage error.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    process.stderr.write(`vaultsync: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}
