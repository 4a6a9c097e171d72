import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ProgramResult, runToEnd } from "../processes/run-to-end.ts";
import { goTool } from "../tools/go-tool.ts";

const root = join(import.meta.dirname, "..", "..", "..");

/** A chart with the name and namespace that the pages give its release. */
export interface Release {
  readonly chart: string;
  readonly name: string;
  readonly namespace: string;
}

export const operatorRelease: Release = {
  chart: join(root, "deploy/chart"),
  name: "vaultsync",
  namespace: "vaultsync-system",
};
export const vaultRelease: Release = {
  chart: join(root, "deploy/vault-chart"),
  name: "vault",
  namespace: "vaultsync-vault",
};

/** Helm without the settings and caches of the user. */
export class Helm implements AsyncDisposable {
  readonly path: string;
  readonly #home: string;
  readonly #kubeconfig: string;

  private constructor(path: string, home: string, kubeconfig: string) {
    this.path = path;
    this.#home = home;
    this.#kubeconfig = kubeconfig;
  }

  /** Without `kubeconfig`, Helm reaches no cluster. */
  static async create(kubeconfig = "/dev/null"): Promise<Helm> {
    return new Helm(
      await goTool("helm"),
      await mkdtemp(join(tmpdir(), "vaultsync-helm-")),
      kubeconfig,
    );
  }

  /** The environment of a command that runs Helm. */
  get env(): Record<string, string> {
    const folders = {
      HELM_CACHE_HOME: "cache",
      HELM_CONFIG_HOME: "config",
      HELM_DATA_HOME: "data",
    };
    const homes = Object.entries(folders).map(([name, folder]) => [name, join(this.#home, folder)]);
    return { ...Object.fromEntries(homes), KUBECONFIG: this.#kubeconfig };
  }

  run(args: readonly string[]): Promise<ProgramResult> {
    return runToEnd(this.path, args, { env: this.env });
  }

  /**
   * Renders a release, with more arguments. @throws Error with the output when Helm rejects the
   * values
   */
  async template(
    { chart, name, namespace }: Release,
    args: readonly string[] = [],
  ): Promise<string> {
    // A Helm that was built from its module takes the cluster for 1.20.
    const release = ["template", name, chart, `--namespace=${namespace}`, "--kube-version=1.30.0"];
    const { code, stdout, stderr } = await this.run([...release, ...args]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#home, { recursive: true, force: true });
  }
}
