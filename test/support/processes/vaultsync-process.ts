import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const main = join(import.meta.dirname, "../../../src/main.ts");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command running in a process of its own. Disposing it kills it. */
export class VaultsyncProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  /** What it says until it ends. */
  readonly ended: Promise<Ended>;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const child = spawn(process.execPath, [main, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env.PATH, ...env },
    });
    this.child = child;
    this.ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]).then(([stdout, stderr]) => ({
      code: child.exitCode,
      stdout,
      stderr,
    }));
  }

  /** Runs to the end. */
  static run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return new VaultsyncProcess(args, env).ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.ended;
  }
}

/** `vaultsync vault serve` on a free port, in a process of its own. */
export class ServingProcess implements AsyncDisposable {
  readonly url: string;
  readonly #process: VaultsyncProcess;

  private constructor(url: string, process_: VaultsyncProcess) {
    this.url = url;
    this.#process = process_;
  }

  static async start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ServingProcess> {
    const started = new VaultsyncProcess(["vault", "serve", "--listen", "127.0.0.1:0", ...args], env);
    const { stdout } = started.child;
    const ready = new Promise<string>((resolve) => {
      let printed = "";
      stdout?.on("data", (bytes: Buffer) => {
        printed += bytes.toString();
        if (printed.includes("\n")) resolve(JSON.parse(printed).url);
      });
    });
    const failed = started.ended.then(({ code, stderr }) => {
      throw new Error(`ended with ${code}: ${stderr}`);
    });
    return new ServingProcess(await Promise.race([ready, failed]), started);
  }

  async stop(): Promise<Ended> {
    this.#process.child.kill("SIGTERM");
    return this.#process.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }
}
