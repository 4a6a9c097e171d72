import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { Redacted } from "../src/lib/redacted.ts";
import { codeOf } from "../src/lib/error-code.ts";

const main = join(import.meta.dirname, "..", "src", "main.ts");
/** Both programs stop within this time after SIGTERM. */
const graceMs = 20_000;
const keptLines = 400;

/**
 * A `vaultsync …` child process, which stops with the demo. Its log (standard error) goes to a file; the last lines stay in memory.
 */
export class ChildProgram implements AsyncDisposable {
  readonly name: string;
  readonly logFile: string;
  /** Resolves when the process has ended, with a message that says how. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #log: WriteStream;
  readonly #lines: string[] = [];
  readonly #readers = new Set<{ stream: "stdout" | "stderr"; read: (line: string) => void }>();

  constructor(name: string, args: readonly string[], logFile: string) {
    this.name = name;
    this.logFile = logFile;
    this.#log = createWriteStream(logFile, { mode: 0o600 });
    const stopWithParent = new URL("stop-with-parent.ts", import.meta.url).href;
    this.#child = spawn(process.execPath, ["--import", stopWithParent, main, ...args], {
      // A process group of its own: Ctrl-C reaches the demo only, which stops everything in order.
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
      env: cleanEnvironment(),
    });
    this.#child.stdin.on("error", () => {});
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#onLine("stdout", line));
    createInterface({ input: this.#child.stderr }).on("line", (line) => {
      this.#log.write(`${line}\n`);
      this.#lines.push(line);
      if (this.#lines.length > keptLines) this.#lines.shift();
      this.#onLine("stderr", line);
    });
    this.ended = once(this.#child, "close").then(
      ([code, signal]) => `the ${name} exited unexpectedly (${signal ?? `exit code ${code}`})`,
    );
  }

  /**
   * Resolves with the first defined result of `parse` over the lines printed after this call.
   * @throws Error when the process ends
   */
  async firstLine<T>(stream: "stdout" | "stderr", parse: (line: string) => T | undefined): Promise<T> {
    const found = Promise.withResolvers<T>();
    const reader = {
      stream,
      read: (line: string): void => {
        const result = parse(line);
        if (result !== undefined) found.resolve(result);
      },
    };
    this.#readers.add(reader);
    try {
      const ended = this.ended.then((how) => Promise.reject(new Error(how)));
      return await Promise.race([found.promise, ended]);
    } finally {
      this.#readers.delete(reader);
    }
  }

  lastLines(count: number): string[] {
    return this.#lines.slice(-count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    const kill = setTimeout(() => this.#child.kill("SIGKILL"), graceMs);
    await this.ended;
    clearTimeout(kill);
    this.#log.end();
  }

  #onLine(stream: "stdout" | "stderr", line: string): void {
    for (const reader of this.#readers) if (reader.stream === stream) reader.read(line);
  }
}

/** Options of the programs can also come from the environment; those of the demo take precedence. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("VAULTSYNC_") && name !== "KUBECONFIG");
  return Object.fromEntries(kept);
}

/** The account in examples/demo/10-connection.yaml. */
export const account = "shop@example.com";

const Ready = z.object({ url: z.string(), users: z.array(z.object({ email: z.string(), password: z.string() })) });

export interface RunningVault {
  readonly program: ChildProgram;
  readonly url: string;
  readonly password: Redacted<string>;
}

/** Parses the JSON line that a vault started with --dev prints when it is ready. */
export function parseReadyLine(line: string): { readonly url: string; readonly password: Redacted<string> } {
  const { url, users } = Ready.parse(JSON.parse(line));
  const user = users.find(({ email }) => email === account);
  if (user === undefined) throw new Error(`the vault has no account ${account}: start it with --dev --dev-users ${account}`);
  return { url, password: new Redacted(user.password) };
}

/** Returns an ephemeral vault in memory, not ready yet. The password of its only account is not on the command line. */
export function vaultProgram(port: number, logFile: string): ChildProgram {
  const args = ["vault", "serve", "--dev", "--dev-users", account, "--listen", `127.0.0.1:${port}`];
  return new ChildProgram("vault", args, logFile);
}

export async function vaultReady(program: ChildProgram): Promise<RunningVault> {
  return { program, ...(await program.firstLine("stdout", parseReadyLine)) };
}

/** Rejects when the port is in use. @throws Error that says what to do */
export async function checkPortIsFree(port: number): Promise<void> {
  const probe = createServer();
  try {
    const listening = once(probe, "listening");
    probe.listen(port, "127.0.0.1");
    await listening;
  } catch (error) {
    const inUse = codeOf(error) === "EADDRINUSE";
    throw new Error(
      `port ${port} of 127.0.0.1, the vault's, ${inUse ? "is in use" : "is not available"}: stop the program that uses it, ` +
        "or choose another port: npm run demo -- --vault-port 8201",
      { cause: error },
    );
  }
  probe.close();
  await once(probe, "close");
}

/** Returns the port in the log line that names the endpoints. */
function portIn(line: string): number | undefined {
  if (!line.includes("/readyz")) return undefined;
  return z.object({ port: z.number().optional() }).parse(JSON.parse(line)).port;
}

/** Returns an operator that is not ready yet. `--allow-http` permits the demo's vault, which listens without TLS on loopback. */
export function operatorProgram(kubeconfig: string, logFile: string): ChildProgram {
  const args = ["operator", "--kubeconfig", kubeconfig, "--allow-http", "--listen", "127.0.0.1:0"];
  return new ChildProgram("operator", args, logFile);
}

/** Resolves when /readyz responds with 200, with the base URL of the endpoints. */
export async function operatorReady(program: ChildProgram, signal: AbortSignal): Promise<string> {
  const url = `http://127.0.0.1:${await program.firstLine("stderr", portIn)}`;
  for (;;) {
    const response = await fetch(`${url}/readyz`, { signal });
    await response.body?.cancel();
    if (response.ok) return url;
    await sleep(50, undefined, { signal });
  }
}
