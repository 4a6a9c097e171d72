import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { waitUntil } from "../../clock/wait-until.ts";

const restartDelayMs = 1000;
/**
 * Time between SIGTERM and SIGKILL. Watches do not end by themselves: an API server would wait a
 * minute for them.
 */
const gracePeriodMs = 2000;
const readyTimeoutMs = 120_000;

export interface ComponentOptions {
  /** Directory of the executable. */
  readonly binaries: string;
  /** Working directory. It also contains `<name>.log`. */
  readonly directory: string;
  /** Variables in addition to the caller's. */
  readonly env?: NodeJS.ProcessEnv;
  /** Kills the process when aborted; its data is not needed any more. */
  readonly signal: AbortSignal;
}

/** A server of a cluster, restarted when it dies unexpectedly. */
export class Component {
  private readonly name: string;
  private readonly options: ComponentOptions;
  private child: ChildProcess | undefined;
  private supervised = false;

  constructor(name: string, options: ComponentOptions) {
    this.name = name;
    this.options = options;
  }

  /**
   * Starts the server and waits until `ready` returns true. Afterwards it is restarted whenever it
   * dies by itself.
   * @throws Error with the end of its log when it dies first or is not ready after two minutes
   */
  async start(args: readonly string[], ready: () => Promise<boolean>): Promise<void> {
    const child = this.spawn(args);
    const settled = async (): Promise<boolean> => hasEnded(child) || (await ready());
    const inTime = await waitUntil(`${this.name} is ready`, settled, readyTimeoutMs, 50).catch(
      () => false,
    );
    if (hasEnded(child)) throw new Error(`${this.name} ended:\n${await this.logTail()}`);
    if (!inTime)
      throw new Error(`${this.name} is not ready after two minutes:\n${await this.logTail()}`);
    this.supervised = true;
  }

  /** Stops the server and does not restart it. */
  async stop(): Promise<void> {
    this.supervised = false;
    const child = this.child;
    if (child === undefined || hasEnded(child)) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const timeout = setTimeout(() => child.kill("SIGKILL"), gracePeriodMs);
    await ended;
    clearTimeout(timeout);
  }

  private async logTail(): Promise<string> {
    const text = await readFile(this.logFile(), "utf8");
    return text.trimEnd().split("\n").slice(-8).join("\n");
  }

  private logFile(): string {
    return join(this.options.directory, `${this.name}.log`);
  }

  private spawn(args: readonly string[]): ChildProcess {
    const { binaries, directory, env, signal } = this.options;
    const log = openSync(this.logFile(), "a", 0o600);
    const stdio: ["ignore", number, number] = ["ignore", log, log];
    const child = spawn(join(binaries, this.name), args, {
      cwd: directory,
      env: { ...process.env, ...env },
      stdio,
      signal,
      killSignal: "SIGKILL",
    });
    closeSync(log);
    this.child = child;
    // `hasEnded` reports a file that is not executable; an abort is intended.
    child.on("error", () => {});
    child.on("exit", () => {
      setTimeout(() => {
        if (this.supervised && this.child === child && !signal.aborted) this.spawn(args);
      }, restartDelayMs);
    });
    return child;
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}
