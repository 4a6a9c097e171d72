import { DatabaseSync } from "node:sqlite";

/**
 * Makes this process the only one that writes to a file, for as long as it lives or until disposed. The lock is SQLite's on an empty
 * database beside the file: the system lets go of it however the process ends, so it is never stale.
 * @throws Error when another process has it
 */
export function lockFile(path: string): Disposable {
  const lock = new DatabaseSync(`${path}.lock`);
  try {
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    throw new Error(`the audit log ${path} is in use by another process, or its directory is not writable`, { cause: error });
  }
  return { [Symbol.dispose]: () => lock.close() };
}
