import { rename } from "node:fs/promises";
import { join } from "node:path";
import { findGo, requiredGo, type GoCommand } from "../../tools/go-command.ts";
import { install } from "../../tools/install.ts";
import type { Progress } from "../progress.ts";
import { unavailable, type Source } from "./source.ts";
import { components, moduleDirectory, type Release, versionFlags } from "./version.ts";
import { messageOf } from "../../../../src/lib/errors.ts";

const packages = [
  "k8s.io/kubernetes/cmd/kube-apiserver",
  "k8s.io/kubernetes/cmd/kube-controller-manager",
  "k8s.io/kubernetes/cmd/kubectl",
  "go.etcd.io/etcd/server/v3",
];

/**
 * The last source: a build that requires only Go and its module proxy, and takes about ten minutes
 * on two cores, once.
 */
export const goBuild: Source = {
  name: `a build from source with ${requiredGo}`,
  async find({ environment, release, cache, progress }) {
    const go = await findGo(environment);
    if ("why" in go) return unavailable(go.why);
    try {
      await install({ cache, names: components, progress }, (directory) =>
        build(directory, { go, release, progress }),
      );
    } catch (error) {
      return unavailable(messageOf(error));
    }
    return { kind: "binaries", directory: cache };
  },
};

async function build(
  directory: string,
  { go, release, progress }: { go: GoCommand; release: Release; progress: Progress },
): Promise<void> {
  progress.note(
    `Building Kubernetes ${release.version} and etcd with ${go.version}, once; this takes about ten minutes on two cores.`,
  );
  const started = performance.now();
  const module = moduleDirectory(release);
  progress.update("Fetching the modules");
  const total = await go.count(module, packages);
  let done = 0;
  const report = (): void => {
    const seconds = Math.round((performance.now() - started) / 1000);
    progress.update(`Building: ${done} of at most ${total} packages, ${seconds} s`);
  };
  report();
  // Together they compile what they share once, and one is linked while others compile.
  const flags = ["-ldflags", versionFlags(release), "-o", `${directory}/`];
  await go.build(module, [...flags, ...packages], () => {
    done += 1;
    report();
  });
  // Go names a program after its package.
  await rename(join(directory, "server"), join(directory, "etcd"));
}
