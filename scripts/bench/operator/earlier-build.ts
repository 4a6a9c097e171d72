import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");

const lockFile = (of: string): Promise<string> => readFile(join(of, "package-lock.json"), "utf8");

/** The build of an earlier revision, in a directory that disposing it removes. */
export interface EarlierBuild extends AsyncDisposable {
  /** Path of its program. */
  readonly program: string;
}

/**
 * Checks a revision out in a temporary directory, installs its packages and builds it; it shares
 * the packages of this checkout if both have the same lock file.
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
  const program = await build(sources);
  const done = undo.move();
  return {
    program,
    [Symbol.asyncDispose]: () => done.disposeAsync(),
  };
}

/** Builds the programs of a checkout, as the image contains them, and returns the path of `main.js`. */
export async function build(checkout = root): Promise<string> {
  await run("npm", ["run", "build", "--", "program"], { cwd: checkout });
  return join(checkout, "dist/main.js");
}
