import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";

const readyLine = z.object({
  url: z.string(),
  users: z.array(z.object({ email: z.string(), password: z.string() })).optional(),
});
const main = join(import.meta.dirname, "../../../src/main.ts");

/** `vaultsync vault serve` as a process of its own, so that it can be measured, and killed. */
export class VaultProcess implements AsyncDisposable {
  readonly url: string;
  /** Of the accounts `--dev-users` made. */
  readonly passwords: ReadonlyMap<string, string>;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string, passwords: ReadonlyMap<string, string>) {
    this.#child = child;
    this.url = url;
    this.passwords = passwords;
  }

  /** @throws Error with what it wrote to standard error when it ends before it is ready */
  static async start(args: readonly string[]): Promise<VaultProcess> {
    const child = spawn(process.execPath, [main, "vault", "serve", "--listen", "127.0.0.1:0", "--log-level", "error", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let errors = "";
    child.stderr.on("data", (bytes: Buffer) => (errors += bytes.toString()));
    for await (const line of createInterface({ input: child.stdout })) {
      const { url, users = [] } = readyLine.parse(JSON.parse(line));
      return new VaultProcess(child, url, new Map(users.map(({ email, password }) => [email, password])));
    }
    throw new Error(`the vault did not start: ${errors}`);
  }

  /** Sends the signal and waits for the end. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    await ended;
  }

  /** The most memory it has held since `forgetPeak`, in bytes: what the system says (Linux). */
  async peak(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/^VmHWM:\s+([0-9]+) kB$/mu.exec(status)?.[1]) * 1024;
  }

  async forgetPeak(): Promise<void> {
    await writeFile(`/proc/${this.#child.pid}/clear_refs`, "5");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop("SIGTERM");
  }
}
