import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Transform, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { systemClock } from "../../../lib/clock.ts";
import { codeOf } from "../../../lib/errors.ts";

/** End of a command: the code that a shell reports, and the signal that ended it. */
export interface CommandEnd {
  readonly code: number;
  readonly signal?: NodeJS.Signals | undefined;
}

/** Exit codes of env(1) and of shells. */
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;

/** Exit code of a process that a signal ends. */
export const codeOfSignal = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** A command that could not be started. Its message contains no argument and no value. */
function startFailure(file: string, error: unknown): CommandEnd {
  const code = codeOf(error);
  const [exit, why] =
    code === "ENOENT"
      ? [NOT_FOUND, "command not found"]
      : code === "E2BIG"
        ? [1, "the arguments and the environment are too long: use a VaultFile for long values"]
        : [NOT_EXECUTABLE, `cannot be executed (${code ?? "unknown error"})`];
  process.stderr.write(`vaultsync: ${file}: ${why}\n`);
  return { code: exit };
}

/** A running command, with the terminal and the standard streams of this process. */
export class CommandProcess {
  /** Resolves when the command has ended and its output is complete. */
  readonly end: Promise<CommandEnd>;
  readonly #child: ChildProcess;

  /**
   * @param openMask opens a stream for the output and one for the errors of the command
   * @param keeper a stream that stays open while the command, or what it starts, runs
   */
  constructor(
    [file = "", ...args]: readonly string[],
    env: NodeJS.ProcessEnv,
    openMask?: () => Transform,
    keeper?: Writable,
  ) {
    const output = openMask === undefined ? "inherit" : "pipe";
    const streams = keeper === undefined ? [] : [keeper];
    this.#child = spawn(file, args, { env, stdio: ["inherit", output, output, ...streams] });
    const { stdout, stderr } = this.#child;
    const outputs = [
      ...(stdout && openMask ? [pipeline(stdout, openMask(), process.stdout, { end: false })] : []),
      ...(stderr && openMask ? [pipeline(stderr, openMask(), process.stderr, { end: false })] : []),
    ];
    this.end = this.#ended(file, outputs);
  }

  async #ended(file: string, outputs: readonly Promise<void>[]): Promise<CommandEnd> {
    // A reader of the output that has gone ends the command, as in a pipe of a shell.
    const written = Promise.allSettled(outputs);
    try {
      await once(this.#child, "spawn");
    } catch (error) {
      return startFailure(file, error);
    }
    if (this.#child.exitCode === null && this.#child.signalCode === null)
      await once(this.#child, "exit");
    await written;
    const { exitCode, signalCode } = this.#child;
    return signalCode === null
      ? { code: exitCode ?? 1 }
      : { code: codeOfSignal(signalCode), signal: signalCode };
  }

  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Asks the command to end, and kills it after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.send("SIGTERM");
    using _ = systemClock.timer(graceMs, () => this.send("SIGKILL"));
    await this.end;
  }
}
