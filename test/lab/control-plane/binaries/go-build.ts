import { join } from "node:path";
import { findGo, requiredGo, type GoCommand } from "../../tools/go-command.ts";
import { install } from "../../tools/install.ts";
import type { Progress } from "../progress.ts";
import { unavailable, type Source } from "./source.ts";
import { components, kubernetesVersion, versionFlags } from "./version.ts";

const packages = {
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
  etcd: "go.etcd.io/etcd/server/v3",
};

/**
 * The last source: a build that requires only Go and its module proxy, and takes about ten minutes
 * on two cores, once.
 */
export const goBuild: Source = {
  name: `a build from source with ${requiredGo}`,
  async find({ environment, cache, progress }) {
    const go = await findGo(environment);
    if ("why" in go) return unavailable(go.why);
    try {
      await install({ cache, names: components, progress }, (directory) =>
        build(directory, go, progress),
      );
    } catch (error) {
      return unavailable(error instanceof Error ? error.message : String(error));
    }
    return { kind: "binaries", directory: cache };
  },
};

async function build(directory: string, go: GoCommand, progress: Progress): Promise<void> {
  progress.note(
    `Building Kubernetes ${kubernetesVersion} and etcd with ${go.version}, once; this takes about ten minutes on two cores.`,
  );
  const started = performance.now();
  progress.update("Fetching the modules");
  const total = await go.count(import.meta.dirname, Object.values(packages));
  const done = new Set<string>();
  for (const [name, path] of Object.entries(packages)) {
    const report = (): void => {
      const seconds = Math.round((performance.now() - started) / 1000);
      progress.update(`Building ${name}: ${done.size} of at most ${total} packages, ${seconds} s`);
    };
    report();
    await go.build(
      import.meta.dirname,
      ["-ldflags", versionFlags(), "-o", join(directory, name), path],
      (compiled) => {
        done.add(compiled);
        report();
      },
    );
  }
}
