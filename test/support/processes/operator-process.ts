import { VaultsyncProcess, type ProcessOptions } from "./vaultsync-process.ts";

/** `vaultsync operator` with an ephemeral port for health and metrics. */
export class OperatorProcess extends VaultsyncProcess {
  /** Starts the operator and waits until it reconciles; a predecessor that was killed keeps its lease for 15 s. */
  static async start(kubeconfig: string, args: readonly string[] = [], options: ProcessOptions = {}): Promise<OperatorProcess> {
    const flags = ["operator", "--kubeconfig", kubeconfig, "--allow-http", "--listen", "127.0.0.1:0", ...args];
    const operator = new OperatorProcess(flags, options);
    const timeout = AbortSignal.timeout(40_000);
    try {
      await operator.waitForOutput(
        ({ stdout, stderr }) => (stdout + stderr).includes('"msg":"starting workers"') || undefined,
        timeout,
      );
    } catch (error) {
      await operator.stop("SIGKILL");
      throw new Error(`the operator did not start:\n${operator.log}`, { cause: error });
    }
    return operator;
  }

  get log(): string {
    return this.stdout + this.stderr;
  }

  get port(): number {
    return Number(/"port":(\d+)/.exec(this.log)?.[1]);
  }

  async page(path: string): Promise<{ status: number; body: string }> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`);
    return { status: response.status, body: await response.text() };
  }
}
