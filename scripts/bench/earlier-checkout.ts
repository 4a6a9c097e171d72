import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");

const lockFile = (of: string): Promise<string> => readFile(join(of, "package-lock.json"), "utf8");

/** The sources of an earlier revision with their packages; disposing it removes them. */
export interface EarlierCheckout extends AsyncDisposable {
  readonly directory: string;
}

/**
 * Checks a revision out in a temporary directory and installs its packages; it shares the packages
 * of this checkout if both have the same lock file.
 * @throws Error if the repository lacks the revision
 */
export async function checkOut(revision: string): Promise<EarlierCheckout> {
  const { stdout } = await run("git", ["rev-parse", "--verify", `${revision}^{commit}`], {
    cwd: root,
  }).catch(() => {
    throw new Error(`this repository has no revision ${revision}: fetch it, or name another one`);
  });
  const temporary = await mkdtemp(join(tmpdir(), "vaultsync-base-"));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rm(temporary, { recursive: true, force: true }));
  const directory = join(temporary, "sources");
  await run("git", ["worktree", "add", "--detach", directory, stdout.trim()], { cwd: root });
  undo.defer(async () => {
    await run("git", ["worktree", "remove", "--force", directory], { cwd: root });
  });
  if ((await lockFile(directory)) === (await lockFile(root)))
    await symlink(join(root, "node_modules"), join(directory, "node_modules"));
  else await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: directory });
  const done = undo.move();
  return { directory, [Symbol.asyncDispose]: () => done.disposeAsync() };
}
