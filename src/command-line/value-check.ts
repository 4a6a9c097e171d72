import type { Command } from "commander";
import type { Redacted } from "../lib/redacted.ts";

/** A value that a command is to store as the next version of a secret. */
export interface NextValue {
  readonly name: string;
  readonly version: number;
  readonly value: Redacted<string>;
}

/** A check of values before a command stores them, by what follows the secret. */
export interface ValueCheck {
  /** Adds the options that select what follows the secret. */
  readonly addOptions: (command: Command) => Command;
  /**
   * Returns why something does not accept a value: texts without it. @throws Error when it cannot be
   * checked
   */
  readonly problemsOf: (next: NextValue, flags: object) => Promise<readonly string[]>;
}
