import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { COMPILE_CACHE } from "../../compile-cache.ts";

const root = join(import.meta.dirname, "../../../..");
/** The program: the sources, or what VAULTSYNC_TEST_PROGRAM names, such as dist/main.js. */
const main = join(root, process.env["VAULTSYNC_TEST_PROGRAM"] ?? "src/main.ts");

/** Benchmarks share no compiled sources. */
const compileCache = process.env["VITEST"] && { NODE_COMPILE_CACHE: COMPILE_CACHE };

export interface ProcessResult {
  /** `null` when a signal ended the process. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProcessOptions {
  /** Added to `PATH`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Standard input. */
  readonly input?: string;
  /** Keeps standard input open until the parent process ends. */
  readonly holdInput?: boolean;
  /** Command that executes Node with its arguments, for example to limit its resources. */
  readonly through?: readonly string[];
  /** Path of another build's `main.js`. */
  readonly program?: string | undefined;
  /** Arguments of Node, before the program. */
  readonly nodeArgs?: readonly string[];
  /** Starts a separate process group: Ctrl-C in a terminal does not reach it. */
  readonly detached?: boolean;
  /** File that receives standard error as it arrives, in addition to `stderr`. */
  readonly logFile?: string;
}

/** A `vaultsync` command in a child process, with its output collected. Disposing it kills it. */
export class VaultsyncProcess implements AsyncDisposable {
  /** Resolves when the process has exited. */
  readonly result: Promise<ProcessResult>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #output = { stdout: "", stderr: "" };

  constructor(args: readonly string[], options: ProcessOptions = {}) {
    const {
      env = {},
      input = "",
      holdInput = false,
      through = [],
      nodeArgs = [],
      detached = false,
      logFile,
    } = options;
    const { program: script = main } = options;
    const [program = "", ...all] = [...through, process.execPath, ...nodeArgs, script, ...args];
    const child = spawn(program, all, {
      stdio: ["pipe", "pipe", "pipe"],
      detached,
      env: { PATH: process.env.PATH, ...compileCache, ...env },
    });
    this.#child = child;
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream]
        .setEncoding("utf8")
        .on("data", (text: string) => (this.#output[stream] += text));
    }
    // A command that does not read its input closes it.
    child.stdin.on("error", () => undefined);
    if (!holdInput) child.stdin.end(input);
    if (logFile !== undefined) child.stderr.pipe(createWriteStream(logFile, { mode: 0o600 }));
    this.result = once(child, "close").then(() => ({ code: child.exitCode, ...this.#output }));
  }

  /** Id of the process, 0 when it could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Runs a command until it exits. */
  static run(args: readonly string[], options: ProcessOptions = {}): Promise<ProcessResult> {
    return new VaultsyncProcess(args, options).result;
  }

  get stdout(): string {
    return this.#output.stdout;
  }

  get stderr(): string {
    return this.#output.stderr;
  }

  get exited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /**
   * Resolves with the first result of `find` that is not undefined, applied to all output so far.
   * @throws Error when the process exits first, or the signal is aborted
   */
  async waitForOutput<T>(
    find: (output: { readonly stdout: string; readonly stderr: string }) => T | undefined,
    signal?: AbortSignal,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const check = (): void => {
      try {
        const found = find(this.#output);
        if (found !== undefined) resolve(found);
      } catch (error) {
        reject(error);
      }
    };
    const aborted = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", aborted);
    const streams = [this.#child.stdout, this.#child.stderr];
    for (const stream of streams) stream.on("data", check);
    const exited = this.result.then(({ code, stderr }) => {
      throw new Error(`vaultsync exited with ${code}: ${stderr}`);
    });
    check();
    try {
      return await Promise.race([promise, exited]);
    } finally {
      signal?.removeEventListener("abort", aborted);
      for (const stream of streams) stream.off("data", check);
    }
  }

  /** Sends a signal, and does not wait for its effect. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /**
   * Sends a signal and waits for the exit; returns the exit code, `null` when the signal ended the
   * process.
   */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    if (!this.exited) this.#child.kill(signal);
    return (await this.result).code;
  }

  /** Returns the peak memory since `resetPeakMemory`, in bytes, as Linux reports it. */
  async peakMemory(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/^VmHWM:\s+([0-9]+) kB$/mu.exec(status)?.[1]) * 1024;
  }

  async resetPeakMemory(): Promise<void> {
    await writeFile(`/proc/${this.#child.pid}/clear_refs`, "5");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
  }
}
