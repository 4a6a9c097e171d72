import { once } from "node:events";
import type { Command } from "commander";
import type { Problem } from "../manifests/manifest.ts";
import { HAS_PROBLEMS } from "../options.ts";
import type { LocalFlags } from "./local-plan.ts";
import type { LocalTarget } from "./local-targets.ts";
import { PublishedDirectory } from "./published-directory.ts";
import { readTargets } from "./read-targets.ts";
import { formatJson, formatManifests, formatVariables } from "./rendering.ts";
import { printProblems } from "./report.ts";
import { directoryProblems, removeUnfinished, stagePrivateFile } from "./target-files.ts";
import { variablesOf } from "./variables.ts";
import { watchRender } from "./watch-render.ts";
import { codeOfSignal } from "./command-process.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Ends this process immediately at a signal, whatever it waits for, and also as the first process
 * of a container. Nothing unfinished stays.
 */
class ImmediateEnd implements Disposable {
  readonly #isEndless: boolean;
  readonly #cleanups: (() => void)[] = [];
  readonly #onSignal = (signal: NodeJS.Signals): void => {
    for (const clean of this.#cleanups) clean();
    process.exit(this.#isEndless && signal === "SIGTERM" ? 0 : codeOfSignal(signal));
  };

  /** @param isEndless the process has no other end: SIGTERM is no failure */
  constructor(isEndless: boolean) {
    this.#isEndless = isEndless;
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  /** Calls `clean` before the end. It must not wait. */
  add(clean: () => void): void {
    this.#cleanups.push(clean);
  }

  [Symbol.dispose](): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
  }
}

/** Flags of `vaultsync render`: one form of output, or files and variables. */
export interface RenderFlags extends LocalFlags {
  readonly secret?: boolean;
  readonly env?: string;
  readonly dir?: string;
  readonly json?: boolean;
  readonly show?: boolean;
  readonly watch?: boolean;
  /** In seconds. */
  readonly interval: number;
}

/** Something that puts out values, or the reasons why it cannot. */
type Output = { readonly problems: readonly Problem[] } | { readonly write: () => Promise<void> };

async function print(text: string): Promise<void> {
  if (text !== "" && !process.stdout.write(text)) await once(process.stdout, "drain");
}

const NO_VARIABLES = { variables: new Map<string, string>(), problems: [] };

function outputOf(
  { secret = false, json = false, env, dir }: RenderFlags,
  targets: readonly LocalTarget[],
): Output {
  if (secret) return { write: () => print(formatManifests(targets)) };
  if (json) return { write: () => print(formatJson(targets)) };
  const ofDirectory = dir === undefined ? [] : directoryProblems(targets);
  const { variables, problems: ofVariables } =
    env === undefined ? NO_VARIABLES : variablesOf(targets, "file");
  const problems = [...ofDirectory, ...ofVariables];
  if (problems.length > 0) return { problems };
  const text = formatVariables(variables);
  return {
    write: async () => {
      const isFile = env !== undefined && env !== "-";
      // What can fail comes first: files of one version and variables of another one do not fit.
      await using staged = isFile ? await stagePrivateFile(env, Buffer.from(text)) : undefined;
      if (dir !== undefined) await new PublishedDirectory(dir).publish(targets);
      if (env === "-") await print(text);
      await staged?.replace();
    },
  };
}

/** Ends the command for a wrong selection of the output, and before it shows values unasked. */
function checkUsage({ secret, json, env, dir, show, watch }: RenderFlags, command: Command): void {
  if ([secret, json, env, dir].every((form) => form === undefined))
    command.error("error: select an output: --secret, --env FILE, --dir DIRECTORY or --json");
  if (watch === true && (dir === undefined || env === "-"))
    command.error("error: --watch needs --dir DIRECTORY, and writes variables to a file only");
  const isPrinted = secret === true || json === true || env === "-";
  if (isPrinted && process.stdout.isTTY && show !== true)
    command.error("error: values would be printed to a terminal: redirect them, or add --show");
}

/** Prints or writes what the operator would write for manifests: all of it, or nothing. */
export async function render(flags: RenderFlags, command: Command): Promise<void> {
  checkUsage(flags, command);
  const { dir, env } = flags;
  using ending = new ImmediateEnd(flags.watch === true);
  if (env !== undefined && env !== "-") ending.add(() => removeUnfinished(env));
  if (dir !== undefined) {
    const directory = new PublishedDirectory(dir);
    ending.add(() => directory.removeLeftovers());
    if (flags.watch === true) return await watchRender({ ...flags, dir });
  }
  const result = await readTargets(flags);
  const output = "problems" in result ? result : outputOf(flags, result.targets);
  if ("write" in output) return await output.write();
  printProblems(output.problems);
  process.exitCode = HAS_PROBLEMS;
}
