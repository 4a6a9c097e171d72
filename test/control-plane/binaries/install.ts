import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Progress } from "../progress.ts";
import { missingComponents } from "./missing-components.ts";

/**
 * Fills `cache` by `make`, which writes the binaries into the directory it is given. The cache appears whole or not at all
 * (one rename), and of two processes that want it at once one works while the other waits and then finds it done.
 * Whatever kills the process on the way leaves at worst a temporary directory that the next one removes.
 */
export async function install(cache: string, progress: Progress, make: (directory: string) => Promise<void>): Promise<void> {
  const parent = dirname(cache);
  await mkdir(parent, { recursive: true });
  using _lock = await exclusiveLock(`${cache}.lock`, progress);
  if ((await missingComponents(cache)).length === 0) return;
  const prefix = `${basename(cache)}.tmp-`;
  for (const entry of await readdir(parent)) {
    if (entry.startsWith(prefix)) await rm(join(parent, entry), { recursive: true, force: true });
  }
  const temporary = await mkdtemp(join(parent, prefix));
  try {
    await make(temporary);
    const missing = await missingComponents(temporary);
    if (missing.length > 0) throw new Error(`it did not give ${missing.join(", ")}`);
    await rm(cache, { recursive: true, force: true });
    await rename(temporary, cache);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** A lock that the operating system frees when its holder dies: SQLite's, because Node has no flock. */
async function exclusiveLock(file: string, progress: Progress): Promise<Disposable> {
  const database = new DatabaseSync(file);
  let told = false;
  for (;;) {
    try {
      database.exec("BEGIN EXCLUSIVE");
      return { [Symbol.dispose]: () => database.close() };
    } catch (error) {
      if (!(error instanceof Error) || !error.message.includes("locked")) throw error;
      if (!told) progress.note("Another process is preparing the control plane; waiting for it.");
      told = true;
      await sleep(500);
    }
  }
}
