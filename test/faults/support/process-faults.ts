import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProcessOptions } from "../../lab/real/processes/vaultsync-process.ts";

/** The machine as a process experiences it; inside-process.ts applies it. */
export interface Machine {
  /**
   * Addresses of a host name, or the error of its lookup; `silence` never returns. Other names are
   * looked up as usual.
   */
  readonly hosts?: Readonly<Record<string, readonly string[] | string>>;
  /** Milliseconds by which the wall clock differs from the real one. */
  readonly clockOffsetMs?: number;
  /**
   * Factor by which timers and the monotonic clock run faster, set before the start. With it, a
   * test needs no real minutes.
   */
  readonly clockSpeed?: number;
  /** Blocks the event loop once, for so many milliseconds. */
  readonly stallMs?: number;
  /** Rejects a promise that has no handler. */
  readonly unhandledRejection?: boolean;
}

/**
 * Faults of the machine inside an operator process: of its name service, its clock and its event
 * loop.
 */
export class ProcessFaults implements Disposable {
  readonly #directory = mkdtempSync(join(tmpdir(), "vaultsync-faults-"));
  #machine: Machine = {};

  constructor(machine: Machine = {}) {
    this.set(machine);
  }

  get options(): ProcessOptions {
    return {
      nodeArgs: ["--import", join(import.meta.dirname, "inside-process.ts")],
      env: { VAULTSYNC_TEST_MACHINE: this.#file },
    };
  }

  /**
   * Changes a part of the machine. Hosts apply to the next lookup, all else after the process has
   * received SIGUSR2.
   */
  set(machine: Machine): void {
    const { clockSpeed, hosts } = this.#machine;
    this.#machine = {
      ...(clockSpeed !== undefined && { clockSpeed }),
      ...machine,
      hosts: { ...hosts, ...machine.hosts },
    };
    writeFileSync(this.#file, JSON.stringify(this.#machine));
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  get #file(): string {
    return join(this.#directory, "machine.json");
  }
}
