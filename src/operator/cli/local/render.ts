import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Command } from "commander";
import { Redacted } from "../../../lib/redacted.ts";
import { VaultClient } from "../../../protocol/client/vault-client.ts";
import type { Problem } from "../manifests/manifest.ts";
import { HAS_PROBLEMS } from "../options.ts";
import { type LocalFlags, readLocalPlan } from "./local-plan.ts";
import { decideTargets, type LocalTarget, makeTargets } from "./local-targets.ts";
import { formatJson, formatManifests, formatVariables } from "./rendering.ts";
import { printNotes, printProblems } from "./report.ts";
import { directoryProblems, writePrivateFile, writeTargets } from "./target-files.ts";
import { variablesOf } from "./variables.ts";

/** Flags of `vaultsync render`: exactly one form of output. */
export interface RenderFlags extends LocalFlags {
  readonly secret?: boolean;
  readonly env?: string;
  readonly dir?: string;
  readonly json?: boolean;
  readonly show?: boolean;
}

/** Something that puts out values, or the reasons why it cannot. */
type Output = { readonly problems: readonly Problem[] } | { readonly write: () => Promise<void> };

async function print(text: string): Promise<void> {
  if (text !== "" && !process.stdout.write(text)) await once(process.stdout, "drain");
}

function outputOf(
  { secret = false, json = false, env, dir }: RenderFlags,
  targets: readonly LocalTarget[],
): Output {
  if (secret) return { write: () => print(formatManifests(targets)) };
  if (json) return { write: () => print(formatJson(targets)) };
  if (dir !== undefined) {
    const problems = directoryProblems(targets);
    return problems.length > 0 ? { problems } : { write: () => writeTargets(dir, targets) };
  }
  const { variables, problems } = variablesOf(targets, "file");
  if (problems.length > 0) return { problems };
  const text = formatVariables(variables);
  if (env === undefined || env === "-") return { write: () => print(text) };
  return { write: () => writePrivateFile(env, Buffer.from(text)) };
}

/** Returns the targets of manifests, or the problems that prevent one. */
async function targetsOf(
  flags: RenderFlags,
): Promise<
  { readonly targets: readonly LocalTarget[] } | { readonly problems: readonly Problem[] }
> {
  const client = await VaultClient.open(flags.account);
  const plan = await readLocalPlan(flags, client);
  if (plan.problems.length > 0) return plan;
  const decided = await decideTargets(plan, client);
  printNotes(decided.notes);
  if (decided.problems.length > 0) return decided;
  const key = new Redacted(randomBytes(32));
  const made = await makeTargets(decided.targets, key, new AbortController().signal);
  return made.problems.length > 0 ? made : { targets: made.targets };
}

/** Ends the command for a wrong selection of the output, and before it shows values unasked. */
function checkUsage({ secret, json, env, dir, show }: RenderFlags, command: Command): void {
  if ([secret, json, env, dir].every((form) => form === undefined))
    command.error("error: select an output: --secret, --env FILE, --dir DIRECTORY or --json");
  const isPrinted = secret === true || json === true || env === "-";
  if (isPrinted && process.stdout.isTTY && show !== true)
    command.error("error: values would be printed to a terminal: redirect them, or add --show");
}

/** Prints or writes what the operator would write for manifests: all of it, or nothing. */
export async function render(flags: RenderFlags, command: Command): Promise<void> {
  checkUsage(flags, command);
  const result = await targetsOf(flags);
  const output = "problems" in result ? result : outputOf(flags, result.targets);
  if ("write" in output) return output.write();
  printProblems(output.problems);
  process.exitCode = HAS_PROBLEMS;
}
