import type { Content } from "../../sync/content.ts";
import { isDerived } from "../../sync/sync-resource.ts";
import type { Problem } from "../manifests/manifest.ts";
import { HAS_PROBLEMS } from "../options.ts";
import { FollowedTargets, keyOfTarget, type WrittenTargets } from "./followed-targets.ts";
import type { LocalFlags } from "./local-plan.ts";
import { type LocalTarget, textOf } from "./local-targets.ts";
import { openLocal, type OpenedPlan } from "./open-local.ts";
import { type Poll, poll } from "./poll.ts";
import { formatOrigins, PublishedDirectory } from "./published-directory.ts";
import { readTargets, saltKey } from "./read-targets.ts";
import { formatVariables } from "./rendering.ts";
import { printNotes, printProblems } from "./report.ts";
import { directoryProblems, removeUnfinished, stagePrivateFile } from "./target-files.ts";
import { variablesOf } from "./variables.ts";

/** Flags of `vaultsync render --watch`; the interval in seconds. */
export interface WatchFlags extends LocalFlags {
  readonly dir: string;
  readonly env?: string;
  readonly interval: number;
}

const { signal: never } = new AbortController();

const isSame = (one: Content, other: Content): boolean =>
  one.size === other.size &&
  [...one].every(([key, bytes]) => {
    const same = other.get(key);
    return same !== undefined && Buffer.compare(bytes, same) === 0;
  });

/** Returns a target with the keys that it had, except those whose sources have left it. */
function withEarlier(target: LocalTarget, written: WrittenTargets): LocalTarget[] {
  const before = written.get(keyOfTarget(target.resource));
  if (before === undefined) return [];
  const { synced } = target.origin;
  const content = isDerived(target.resource)
    ? before.content
    : new Map([...before.content].filter(([key]) => synced.has(key)));
  return [{ ...target, content, origin: before.origin }];
}

/** The files of a watch, and what they were written of. */
class WatchedFiles {
  readonly #directory: PublishedDirectory;
  readonly #env: string | undefined;
  #variables: string | undefined;
  #origins = "";
  written: WrittenTargets = new Map();

  constructor({ dir, env }: WatchFlags) {
    this.#directory = new PublishedDirectory(dir);
    this.#env = env;
  }

  /** Reads what an earlier process has written, and removes what it left unfinished. */
  async open(): Promise<void> {
    this.#directory.removeLeftovers();
    if (this.#env !== undefined) removeUnfinished(this.#env);
    this.written = await this.#directory.read();
    if (this.written.size > 0) await this.#directory.link(this.#names());
  }

  /** Writes targets, as far as files and variables can have them. Returns the reasons otherwise. */
  async write(targets: readonly LocalTarget[]): Promise<readonly Problem[]> {
    const { fitting, problems } = this.#fitting(targets);
    const isUnchanged =
      fitting.length === this.written.size &&
      fitting.every(({ resource, content }) => {
        const before = this.written.get(keyOfTarget(resource));
        return before !== undefined && isSame(content, before.content);
      });
    const origins = formatOrigins(fitting);
    const text = formatVariables(variablesOf(fitting, "file").variables);
    // What can fail comes first: files of one version and variables of another one do not fit.
    await using staged = await this.#stagedVariables(text);
    if (!isUnchanged) await this.#directory.publish(fitting);
    else if (origins !== this.#origins && this.written.size > 0)
      await this.#directory.publishOrigins(fitting);
    this.#origins = origins;
    this.written = new Map(
      fitting.map(({ resource, content, origin }) => [keyOfTarget(resource), { content, origin }]),
    );
    await staged?.replace();
    this.#variables = text;
    if (!isUnchanged) printNotes([`vaultsync: wrote ${this.#names().join(", ") || "no target"}`]);
    return problems;
  }

  /** Returns the file of variables, if it does not have this text already. */
  async #stagedVariables(text: string) {
    if (this.#env === undefined || text === this.#variables) return undefined;
    return stagePrivateFile(this.#env, Buffer.from(text));
  }

  #fitting(targets: readonly LocalTarget[]) {
    const fitting: LocalTarget[] = [];
    const problems: Problem[] = [];
    for (const target of targets) {
      const all = [...fitting, target];
      const ofVariables = this.#env === undefined ? [] : variablesOf(all, "file").problems;
      const found = [...directoryProblems(all), ...ofVariables];
      problems.push(...found);
      fitting.push(...(found.length === 0 ? [target] : withEarlier(target, this.written)));
    }
    return { fitting, problems };
  }

  #names = (): string[] => [...this.written.keys()].map((key) => key.slice(key.indexOf("/") + 1));
}

/** Follows the vault with the targets of manifests. */
class Watch {
  readonly #flags: WatchFlags;
  readonly #files: WatchedFiles;
  #targets: FollowedTargets | undefined;

  constructor(flags: WatchFlags, files: WatchedFiles) {
    this.#flags = flags;
    this.#files = files;
  }

  /** Writes the first files: all of them, or none. Returns the reasons for none. */
  async start(): Promise<readonly Problem[]> {
    const read = await readTargets(this.#flags);
    if ("problems" in read) return read.problems;
    const { targets } = read;
    const ofVariables = this.#flags.env === undefined ? [] : variablesOf(targets, "file").problems;
    const problems = [...directoryProblems(targets), ...ofVariables];
    if (problems.length > 0) return problems;
    this.#follow(read);
    return this.#files.write(targets);
  }

  /** Compares the vault with the files, and replaces those that differ. */
  async attempt(): Promise<Poll<never>> {
    if (this.#targets === undefined) {
      const opened = await openLocal(this.#flags);
      if ("problems" in opened) return { problems: opened.problems.map(textOf) };
      this.#follow(opened);
    }
    const followed = await this.#targets?.next(this.#files.written, never);
    if (followed === undefined) return { problems: [] };
    const problems = [...followed.problems, ...(await this.#files.write(followed.targets))];
    return { problems: problems.map(textOf), isRetry: followed.isRetry };
  }

  #follow({ plan, client }: OpenedPlan): void {
    this.#targets = new FollowedTargets(plan, client, saltKey());
  }
}

/**
 * Writes the targets of manifests to files, and replaces them when the vault has another version,
 * until the process ends. Without files of an earlier process, a failure ends the command; after
 * that, files keep their content.
 */
export async function watchRender(flags: WatchFlags): Promise<void> {
  const files = new WatchedFiles(flags);
  await files.open();
  const watch = new Watch(flags, files);
  const intervalMs = flags.interval * 1_000;
  const isFirst = files.written.size === 0;
  if (isFirst) {
    const problems = await watch.start();
    if (problems.length > 0) {
      printProblems(problems);
      process.exitCode = HAS_PROBLEMS;
      return;
    }
  }
  const prefix = "not all files follow the vault";
  await poll(
    () => watch.attempt(),
    { intervalMs, firstMs: isFirst ? intervalMs : 0, prefix },
    never,
  );
}
