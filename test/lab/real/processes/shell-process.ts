import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * A line of a shell, run by bash in a separate process group. Disposing it interrupts the whole
 * group, like Ctrl-C.
 */
export class ShellProcess implements AsyncDisposable {
  output = "";
  readonly #command: string;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #exited: Promise<number>;

  constructor(command: string, options: { cwd: string; env: NodeJS.ProcessEnv; input?: string }) {
    this.#command = command;
    const { cwd, env, input = "" } = options;
    this.#child = spawn("bash", ["--norc", "-c", command], {
      cwd,
      env,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (this.output += text));
    }
    this.#child.stdin.on("error", () => undefined);
    this.#child.stdin.end(input);
    this.#exited = once(this.#child, "close").then(([code]) =>
      typeof code === "number" ? code : 1,
    );
  }

  /** Resolves when the command succeeds. @throws Error with its output when it fails */
  async succeed(): Promise<void> {
    const code = await this.#exited;
    if (code !== 0) throw new Error(`${this.#command}\nexited with ${code}:\n${this.output}`);
  }

  /**
   * Resolves when `ready` holds, at most a minute later. @throws Error with the output when the
   * command exits first
   */
  async until(ready: (output: string) => boolean | Promise<boolean>): Promise<void> {
    for (let attempt = 0; attempt < 600; attempt++) {
      if (await ready(this.output)) return;
      const exited = await Promise.race([this.#exited, sleep(100, "running" as const)]);
      if (exited !== "running")
        throw new Error(`${this.#command}\nexited with ${exited}:\n${this.output}`);
    }
    throw new Error(`${this.#command}\nis not ready after a minute:\n${this.output}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (
      this.#child.exitCode === null &&
      this.#child.signalCode === null &&
      this.#child.pid !== undefined
    ) {
      process.kill(-this.#child.pid, "SIGINT");
    }
    await this.#exited;
  }
}
