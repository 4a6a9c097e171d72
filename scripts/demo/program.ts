import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

const root = join(import.meta.dirname, "..", "..");
/** Both programs stop within this when told to. */
const graceMs = 20_000;
const keptLines = 400;

/** `vaultsync …` as a child process, tied to this one's life, its log (standard error) in a file and the last lines in memory. */
export class Program implements AsyncDisposable {
  readonly name: string;
  /** Resolves when the process has ended, with what to say of it. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #log: WriteStream;
  readonly #lines: string[] = [];
  readonly #waiting = new Set<{ stream: "stdout" | "stderr"; tell: (line: string) => void }>();

  constructor(name: string, args: readonly string[], logFile: string) {
    this.name = name;
    this.#log = createWriteStream(logFile, { mode: 0o600 });
    const tether = new URL("tether.ts", import.meta.url).href;
    this.#child = spawn(process.execPath, ["--import", tether, join(root, "src", "main.ts"), ...args], {
      // A group of its own: Ctrl-C reaches the demo only, which stops everything in order.
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
      env: ownEnvironment(),
    });
    this.#child.stdin.on("error", () => {});
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#heard("stdout", line));
    createInterface({ input: this.#child.stderr }).on("line", (line) => {
      this.#log.write(`${line}\n`);
      this.#lines.push(line);
      if (this.#lines.length > keptLines) this.#lines.shift();
      this.#heard("stderr", line);
    });
    this.ended = once(this.#child, "close").then(
      ([code, signal]) => `the ${name} ended by itself (${signal ?? `exit code ${code}`})`,
    );
  }

  /** Resolves with the first answer of `read` that is not undefined, from lines that come after this call. @throws Error when it ends */
  async answer<T>(stream: "stdout" | "stderr", read: (line: string) => T | undefined): Promise<T> {
    const found = Promise.withResolvers<T>();
    const waiter = {
      stream,
      tell: (line: string): void => {
        const answer = read(line);
        if (answer !== undefined) found.resolve(answer);
      },
    };
    this.#waiting.add(waiter);
    try {
      const ended = this.ended.then((how) => Promise.reject(new Error(how)));
      return await Promise.race([found.promise, ended]);
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  lastLines(count: number): string[] {
    return this.#lines.slice(-count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    const hard = setTimeout(() => this.#child.kill("SIGKILL"), graceMs);
    await this.ended;
    clearTimeout(hard);
    this.#log.end();
  }

  #heard(stream: "stdout" | "stderr", line: string): void {
    for (const waiter of this.#waiting) if (waiter.stream === stream) waiter.tell(line);
  }
}

/** Flags of the programs can come from the environment too; the demo's own must win. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("VAULTSYNC_") && name !== "KUBECONFIG");
  return Object.fromEntries(kept);
}
