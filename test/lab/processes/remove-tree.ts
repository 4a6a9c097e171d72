import { rm } from "node:fs/promises";
import { waitUntil } from "../clock/wait-until.ts";

const attemptsMs = 30_000;

/**
 * Removes a directory in which killed processes may still have or write files, if it exists. The
 * retries of `rm` are none here: each directory repeats those of the ones in it, and four for a
 * busy file take minutes.
 * @throws Error with the file that could not be removed for half a minute
 */
export async function removeTree(directory: string): Promise<void> {
  await waitUntil(
    `${directory} is removed`,
    () => rm(directory, { recursive: true, force: true }).then(() => true),
    attemptsMs,
  );
}
