import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { waitUntil } from "../../support/clock/wait-until.ts";

const main = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));

export interface OperatorProcessOptions {
  readonly kubeconfig: string;
  readonly args?: readonly string[];
}

/** `vaultsync operator` as a process of its own. */
export class OperatorProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  #log = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#log += text));
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.#log += text));
  }

  /** Starts it without waiting for anything. */
  static spawn({ kubeconfig, args = [] }: OperatorProcessOptions): OperatorProcess {
    const flags = ["operator", "--kubeconfig", kubeconfig, "--allow-http", "--listen", "127.0.0.1:0", ...args];
    const { KUBECONFIG: _, ...env } = process.env;
    return new OperatorProcess(spawn(process.execPath, [main, ...flags], { env, stdio: ["ignore", "pipe", "pipe"] }));
  }

  /** Starts an operator and waits until it starts its workers. The lease of a predecessor that was killed expires after 15 s. */
  static async start(options: OperatorProcessOptions): Promise<OperatorProcess> {
    const operator = OperatorProcess.spawn(options);
    await waitUntil(
      "the operator has started its workers",
      () => operator.exited || operator.log.includes('"msg":"starting workers"'),
      40_000,
    );
    if (operator.exited) throw new Error(`the operator exited with ${operator.#child.exitCode}:\n${operator.log}`);
    return operator;
  }

  get exited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get log(): string {
    return this.#log;
  }

  get port(): number {
    return Number(/"port":(\d+)/.exec(this.#log)?.[1]);
  }

  async page(path: string): Promise<{ status: number; body: string }> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`);
    return { status: response.status, body: await response.text() };
  }

  /** Sends the signal and waits for the end; answers the exit code, `null` after a kill. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    if (!this.exited) {
      this.#child.kill(signal);
      await once(this.#child, "close");
    }
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
  }
}
