import { mkdir, mkdtemp, readdir, rename, rm, access, constants } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Progress } from "../control-plane/progress.ts";
import { arch, homedir, platform } from "node:os";

export interface InstallOptions {
  readonly cache: string;
  readonly names: readonly string[];
  readonly progress: Progress;
}

/**
 * Fills `cache` with `make`. `make` writes the programs `names` into a given directory. The cache
 * appears complete, by one rename. Of two processes one works while the other waits and then uses
 * the result. A killed process leaves a temporary directory that the next one removes.
 */
export async function install(
  { cache, names, progress }: InstallOptions,
  make: (directory: string) => Promise<void>,
): Promise<void> {
  const parent = dirname(cache);
  await mkdir(parent, { recursive: true });
  using _lock = await exclusiveLock(`${cache}.lock`, progress);
  if ((await missingFiles(cache, names)).length === 0) return;
  const prefix = `${basename(cache)}.tmp-`;
  for (const entry of await readdir(parent)) {
    if (entry.startsWith(prefix)) await rm(join(parent, entry), { recursive: true, force: true });
  }
  const temporary = await mkdtemp(join(parent, prefix));
  try {
    await make(temporary);
    const missing = await missingFiles(temporary, names);
    if (missing.length > 0) throw new Error(`missing from the result: ${missing.join(", ")}`);
    await rm(cache, { recursive: true, force: true });
    await rename(temporary, cache);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/**
 * Acquires a lock that is released when its holder dies. It is a lock of SQLite, because Node has
 * no flock.
 */
async function exclusiveLock(file: string, progress: Progress): Promise<Disposable> {
  const database = new DatabaseSync(file);
  let reported = false;
  for (;;) {
    try {
      database.exec("BEGIN EXCLUSIVE");
      return { [Symbol.dispose]: () => database.close() };
    } catch (error) {
      if (!(error instanceof Error) || !error.message.includes("locked")) throw error;
      if (!reported)
        progress.note("Waiting for another process that downloads or builds the same programs.");
      reported = true;
      await sleep(500);
    }
  }
}

/** Returns the `names` that are not executable files in `directory`. */
export async function missingFiles(directory: string, names: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const name of names) {
    try {
      await access(join(directory, name), constants.X_OK);
    } catch {
      missing.push(name);
    }
  }
  return missing;
}

/** Returns the platform in the notation of Go and the published archives, e.g. `linux-amd64`. */
export function goPlatform(): { os: string; arch: string } {
  const machine = arch();
  return { os: platform(), arch: machine === "x64" ? "amd64" : machine };
}

/** Returns the directory of downloaded and built programs, in `$XDG_CACHE_HOME` or `~/.cache`. */
export function userCacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  return join(
    environment["XDG_CACHE_HOME"] || join(environment["HOME"] || homedir(), ".cache"),
    "vaultsync",
  );
}
