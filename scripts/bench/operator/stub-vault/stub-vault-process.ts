import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { z } from "zod";

const readyLine = z.object({ url: z.string() });

/** The vault for benchmarks as a process. Disposing it ends it. */
export class StubVaultProcess implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(): Promise<StubVaultProcess> {
    const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    for await (const line of createInterface({ input: child.stdout })) {
      return new StubVaultProcess(child, readyLine.parse(JSON.parse(line)).url);
    }
    throw new Error("the vault for benchmarks ended before it was ready");
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get metricsUrl(): string {
    return this.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.stdin.end();
    await exited;
  }
}
