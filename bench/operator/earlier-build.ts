import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");

const lockFile = (of: string): Promise<string> => readFile(join(of, "package-lock.json"), "utf8");

/** The sources of an earlier revision, in a directory that disposing it removes. */
export interface EarlierBuild extends AsyncDisposable {
  /** Path of its program. */
  readonly program: string;
}

/**
 * Checks a revision out in a temporary directory and installs its packages; it shares the packages
 * of this checkout if both have the same lock file.
 * @throws Error if the repository lacks the revision
 */
export async function checkOut(revision: string): Promise<EarlierBuild> {
  const { stdout } = await run("git", ["rev-parse", "--verify", `${revision}^{commit}`], {
    cwd: root,
  }).catch(() => {
    throw new Error(
      `this repository has no revision ${revision}: fetch it, or name another one with --base`,
    );
  });
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-base-"));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rm(directory, { recursive: true, force: true }));
  const sources = join(directory, "sources");
  await run("git", ["worktree", "add", "--detach", sources, stdout.trim()], { cwd: root });
  undo.defer(async () => {
    await run("git", ["worktree", "remove", "--force", sources], { cwd: root });
  });
  if ((await lockFile(sources)) === (await lockFile(root)))
    await symlink(join(root, "node_modules"), join(sources, "node_modules"));
  else await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: sources });
  const done = undo.move();
  return {
    program: join(sources, "src/main.ts"),
    [Symbol.asyncDispose]: () => done.disposeAsync(),
  };
}
