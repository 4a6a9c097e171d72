import { VaultsyncProcess, type ProcessOptions } from "./vaultsync-process.ts";

export interface OperatorOptions extends ProcessOptions {
  /** Passes `--allow-http`, as by default. */
  readonly allowHttp?: boolean;
}

/** `vaultsync operator` with an ephemeral port for health and metrics. */
export class OperatorProcess extends VaultsyncProcess {
  /**
   * Starts the operator and does not wait for it. @param kubeconfig `undefined` for the
   * ServiceAccount of a pod
   */
  static launch(
    kubeconfig: string | undefined,
    args: readonly string[] = [],
    options: OperatorOptions = {},
  ): OperatorProcess {
    const { allowHttp = true, ...process } = options;
    const access = kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig];
    const flags = [
      "operator",
      ...access,
      ...(allowHttp ? ["--allow-http"] : []),
      "--listen",
      "127.0.0.1:0",
    ];
    return new OperatorProcess([...flags, ...args], process);
  }

  /**
   * Starts the operator and waits until it reconciles; a predecessor that was killed keeps its
   * lease for 15 s.
   */
  static async start(
    kubeconfig: string | undefined,
    args: readonly string[] = [],
    options: OperatorOptions = {},
  ): Promise<OperatorProcess> {
    const operator = OperatorProcess.launch(kubeconfig, args, options);
    const timeout = AbortSignal.timeout(120_000);
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
