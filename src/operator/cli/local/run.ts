import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Redacted } from "../../../lib/redacted.ts";
import type { Problem } from "../manifests/manifest.ts";
import { HAS_PROBLEMS } from "../options.ts";
import { type CommandEnd, CommandProcess, codeOfSignal } from "./command-process.ts";
import type { LocalFlags } from "./local-plan.ts";
import { LocalValues, type Values } from "./local-values.ts";
import type { MaskedValue } from "./mask/masked-forms.ts";
import { openLocal } from "./open-local.ts";
import { poll } from "./poll.ts";
import { PrivateDirectory, removeLeftovers } from "./private-directory.ts";
import { printNotes, printProblems } from "./report.ts";
import { writeTargets } from "./target-files.ts";
import { maskStreams } from "./mask/masker.ts";

const PASSED = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
/** Signals that a terminal sends to all processes in the foreground. */
const OF_TERMINAL: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT", "SIGQUIT"]);

/** Reports whether this process is in the foreground of a terminal, together with its command. */
function isInForeground(): boolean {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return group === foreground;
  } catch {
    return process.stdin.isTTY || process.stdout.isTTY;
  }
}

/**
 * Calls `pass` for each signal that the command of this process has to receive, until disposed. Of
 * the signals of a terminal, it gets those that the terminal did not send.
 */
function passSignals(pass: (signal: NodeJS.Signals) => void): Disposable {
  const onSignal = (signal: NodeJS.Signals): void => pass(signal);
  for (const signal of PASSED) process.on(signal, onSignal);
  return {
    [Symbol.dispose]: () => {
      for (const signal of PASSED) process.off(signal, onSignal);
    },
  };
}

/** Reports whether the terminal sent a signal to the command already. */
const isOfTerminal = (signal: NodeJS.Signals): boolean =>
  OF_TERMINAL.has(signal) && isInForeground();

/** Flags of `vaultsync run`; times in seconds. */
export interface RunFlags extends LocalFlags {
  readonly watch?: boolean;
  readonly mask?: boolean;
  readonly interval: number;
  readonly grace: number;
}

/** Variable with the path of the private directory. */
const FILES_VARIABLE = "VAULTSYNC_FILES";

/** Ends this process by a signal: a shell sees what it would see of the command. */
function endBySignal(signal: NodeJS.Signals): void {
  process.exitCode = codeOfSignal(signal);
  process.kill(process.pid, signal);
}

/** A command, the directory of its files, and the signals that it receives. */
class Session implements Disposable {
  #directory: PrivateDirectory | undefined;
  #command: CommandProcess | undefined;
  readonly #signals: Disposable;
  readonly #remove = (): void => this.#directory?.[Symbol.dispose]();
  readonly #masked: MaskedValue[] = [];
  readonly #ended = new AbortController();
  /** Signal that arrived while no command was running, or before a restart. */
  stopped: NodeJS.Signals | undefined;

  constructor() {
    process.on("exit", this.#remove);
    this.#signals = passSignals((signal) => this.#receive(signal));
  }

  /** Aborted when the command does not have to be restarted any more. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  #receive(signal: NodeJS.Signals): void {
    if (signal !== "SIGUSR1" && signal !== "SIGUSR2") this.stopped = signal;
    if (this.#command !== undefined) {
      if (!isOfTerminal(signal)) this.#command.send(signal);
    } else if (this.stopped !== undefined) {
      this[Symbol.dispose]();
      endBySignal(signal);
    }
  }

  /** Starts the command with these values. */
  async start(
    words: readonly string[],
    { variables, files, masked }: Values,
    isMasking: boolean,
  ): Promise<CommandProcess> {
    if (files.length > 0) {
      this.#directory ??= PrivateDirectory.create();
      this.#directory.clear();
      await writeTargets(this.#directory.path, files);
    }
    // What an earlier version had may still be printed.
    this.#masked.push(...masked);
    const path = this.#directory?.path;
    const env = {
      ...process.env,
      ...Object.fromEntries(variables),
      ...(path !== undefined && { [FILES_VARIABLE]: path }),
    };
    this.#command = new CommandProcess(
      words,
      env,
      isMasking ? maskStreams(this.#masked) : undefined,
      this.#directory?.keeper,
    );
    return this.#command;
  }

  /** From now on until the next start, a signal ends this process. */
  between(): void {
    this.#command = undefined;
  }

  /** Ends the watch of the vault. */
  ended(): void {
    this.between();
    this.#ended.abort(new Error("the command has ended"));
  }

  [Symbol.dispose](): void {
    this.ended();
    this.#signals[Symbol.dispose]();
    this.#remove();
    process.off("exit", this.#remove);
  }
}

/** Waits for other values; resolves with `undefined` when the command has ended. */
const nextValues = (
  values: LocalValues,
  intervalMs: number,
  signal: AbortSignal,
): Promise<Values | undefined> =>
  poll(
    async () => {
      const next = await values.changed(signal);
      if (next !== undefined && "variables" in next) return { result: next, problems: [] };
      return { problems: (next?.problems ?? []).map(({ message }) => message) };
    },
    { intervalMs, prefix: "the command keeps its values" },
    signal,
  );

/** Runs the command until it ends, and restarts it when there are other values. */
async function follow(
  session: Session,
  words: readonly string[],
  flags: RunFlags,
  values: LocalValues,
  first: Values,
): Promise<CommandEnd> {
  for (let current = first; ;) {
    const command = await session.start(words, current, flags.mask === true);
    const end = command.end.then((how) => ({ how }));
    const change =
      flags.watch === true
        ? nextValues(values, flags.interval * 1_000, session.signal).then((next) => ({ next }))
        : end;
    const event = await Promise.race([end, change]);
    if ("how" in event) return event.how;
    if (event.next === undefined || session.stopped !== undefined) return command.end;
    printNotes(["vaultsync: the vault has another version: restarting the command"]);
    await command.stop(flags.grace * 1_000);
    if (session.stopped !== undefined) return command.end;
    session.between();
    current = event.next;
  }
}

function refuse(problems: readonly Problem[]): CommandEnd {
  printProblems(problems);
  return { code: HAS_PROBLEMS };
}

/** Runs a command with the values that the operator would write for manifests. */
export async function run(words: readonly string[], flags: RunFlags): Promise<void> {
  const end = await runSession(words, flags);
  if (end.signal !== undefined) endBySignal(end.signal);
  process.exitCode = end.code;
}

async function runSession(words: readonly string[], flags: RunFlags): Promise<CommandEnd> {
  using session = new Session();
  removeLeftovers();
  const opened = await openLocal(flags);
  if ("problems" in opened) return refuse(opened.problems);
  const { plan, client } = opened;
  const values = new LocalValues(plan, client, new Redacted(randomBytes(32)));
  const first = await values.read(session.signal);
  if ("problems" in first) return refuse(first.problems);
  printNotes(values.notes);
  return await follow(session, words, flags, values, first);
}
