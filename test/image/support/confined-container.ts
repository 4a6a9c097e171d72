import { execFile, spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { inject } from "vitest";
import { containerSpec, type Confinement } from "./container-spec.ts";

const run = promisify(execFile);

const Memory = z.object({
  usage: z.object({ usage: z.int() }),
  raw: z.record(z.string(), z.number()),
});
const Stats = z.object({ data: z.object({ memory: Memory }) });

/**
 * A container of runc, with a read-only root file system, no capability and no new privileges.
 * Disposing it kills and removes it.
 */
export class ConfinedContainer implements AsyncDisposable {
  readonly #id = `vaultsync-test-${randomBytes(6).toString("hex")}`;
  readonly #directory: string;
  readonly #process: ChildProcess;
  readonly #exited: Promise<number>;

  private constructor(directory: string, confinement: Confinement, output: number) {
    this.#directory = directory;
    const input = confinement.input === undefined ? "ignore" : "pipe";
    const args = ["--root", join(directory, "state"), "run", "--bundle", directory, this.#id];
    this.#process = spawn(inject("image").runc, args, { stdio: [input, output, output] });
    this.#exited = once(this.#process, "exit").then(([code]: (number | null)[]) => code ?? -1);
    // A command that does not read its input may end first.
    this.#process.stdin?.on("error", () => undefined).end(confinement.input);
  }

  /** Starts it and does not wait until it is ready. */
  static async start(confinement: Confinement): Promise<ConfinedContainer> {
    const directory = await mkdtemp(join(tmpdir(), "vaultsync-container-"));
    await mkdir(join(directory, "state"));
    const spec = containerSpec(inject("image").unpacked, confinement);
    await writeFile(join(directory, "config.json"), JSON.stringify(spec));
    await using output = await open(join(directory, "log"), "w");
    return new ConfinedContainer(directory, confinement, output.fd);
  }

  /** Waits for its end. @throws Error with what it wrote, unless it exited with 0 */
  async succeed(): Promise<void> {
    if ((await this.#exited) !== 0) throw new Error(await this.log());
  }

  async #runc(...args: readonly string[]): Promise<string> {
    const state = join(this.#directory, "state");
    return (await run(inject("image").runc, ["--root", state, ...args])).stdout;
  }

  /** Returns everything that it has written to standard output and standard error. */
  log(): Promise<string> {
    return readFile(join(this.#directory, "log"), "utf8");
  }

  /**
   * Returns the memory in use in bytes, without the cache of files: what Kubernetes compares with
   * the limit.
   */
  async memory(): Promise<number> {
    const stats: unknown = JSON.parse(await this.#runc("events", "--stats", this.#id));
    const { usage, raw } = Stats.parse(stats).data.memory;
    // Control groups v1 have the first name.
    return usage.usage - (raw["total_inactive_file"] ?? raw["inactive_file"] ?? 0);
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. Returns the exit code. */
  async stop(graceMs: number): Promise<number> {
    await this.#runc("kill", this.#id, "TERM");
    const timer = setTimeout(() => void this.#runc("kill", this.#id, "KILL"), graceMs);
    try {
      return await this.#exited;
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null) {
      await this.#runc("delete", "--force", this.#id);
      await this.#exited;
    }
    await rm(this.#directory, { recursive: true, force: true });
  }
}
