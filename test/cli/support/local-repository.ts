import { mkdtemp, rm } from "node:fs/promises";
import { afterAll } from "vitest";
import {
  VaultsyncProcess,
  type ProcessOptions,
} from "../../lab/real/processes/vaultsync-process.ts";
import { directory } from "./plan-repository.ts";

/** Directory in memory for the runs of a test file. */
export const memory = await mkdtemp("/dev/shm/vaultsync-test-");
afterAll(() => rm(memory, { recursive: true, force: true }));

/** Starts `vaultsync run` for the repository, in a session without a terminal. */
export const start = (args: readonly string[], options: ProcessOptions = {}): VaultsyncProcess =>
  new VaultsyncProcess(["run", "-f", directory.join("repository"), ...args], {
    detached: true,
    ...options,
    env: {
      VAULTSYNC_ACCOUNT: directory.join("account.json"),
      XDG_RUNTIME_DIR: memory,
      ...options.env,
    },
  });
