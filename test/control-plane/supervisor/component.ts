import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const restartDelayMs = 1000;
/** An API server waits a minute for its watches to end by themselves, which they do not. */
const gracePeriodMs = 2000;
const readyDeadlineMs = 120_000;

export interface ComponentPlace {
  /** Where the executable is. */
  readonly binaries: string;
  /** Working directory and place of `<name>.log`. */
  readonly directory: string;
  /** When it aborts, the process is killed: at the end nothing that it could save is wanted. */
  readonly signal: AbortSignal;
}

/** One server of the control plane, kept running while it is wanted. */
export class Component {
  private readonly name: string;
  private readonly place: ComponentPlace;
  private child: ChildProcess | undefined;
  private supervised = false;

  constructor(name: string, place: ComponentPlace) {
    this.name = name;
    this.place = place;
  }

  /**
   * Starts it and waits until `ready` answers true. Once that was so, it is started again whenever it dies by itself.
   * @throws Error with the end of its log when it dies first or takes two minutes.
   */
  async start(args: readonly string[], ready: () => Promise<boolean>): Promise<void> {
    const child = this.spawn(args);
    const deadline = performance.now() + readyDeadlineMs;
    while (!(await ready())) {
      if (hasEnded(child)) throw new Error(`${this.name} ended:\n${await this.logTail()}`);
      if (performance.now() > deadline) throw new Error(`${this.name} is not ready after two minutes:\n${await this.logTail()}`);
      await sleep(50);
    }
    this.supervised = true;
  }

  /** Ends it and lets it stay so. */
  async stop(): Promise<void> {
    this.supervised = false;
    const child = this.child;
    if (child === undefined || hasEnded(child)) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const impatience = setTimeout(() => child.kill("SIGKILL"), gracePeriodMs);
    await ended;
    clearTimeout(impatience);
  }

  private async logTail(): Promise<string> {
    const text = await readFile(this.logFile(), "utf8");
    return text.trimEnd().split("\n").slice(-8).join("\n");
  }

  private logFile(): string {
    return join(this.place.directory, `${this.name}.log`);
  }

  private spawn(args: readonly string[]): ChildProcess {
    const { binaries, directory, signal } = this.place;
    const log = openSync(this.logFile(), "a", 0o600);
    const stdio: ["ignore", number, number] = ["ignore", log, log];
    const child = spawn(join(binaries, this.name), args, { cwd: directory, stdio, signal, killSignal: "SIGKILL" });
    closeSync(log);
    this.child = child;
    // A file that cannot be executed shows in `hasEnded`; an abort is meant.
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
