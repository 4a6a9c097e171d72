import { parseArgs } from "node:util";
import { once } from "node:events";
import { terminalProgress } from "../test/lab/control-plane/progress.ts";
import { startControlPlane } from "../test/lab/control-plane/start.ts";

const help = `Start a Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager; no nodes) on loopback addresses. Ctrl-C stops it
and removes its data.

Usage: npm run control-plane [-- --user NAME]...

  --user NAME   additional user without permissions; may be repeated
  --help        show this help

The binaries come from the first available source:
  1. KUBEBUILDER_ASSETS, a directory with etcd, kube-apiserver, kube-controller-manager and kubectl
  2. the user's cache directory ($XDG_CACHE_HOME or ~/.cache, under vaultsync/control-plane)
  3. the published archives, if the network allows it
  4. a k3s container, if a Docker daemon runs
  5. a build with Go 1.26 or later, once (about ten minutes on two cores)

VAULTSYNC_KUBERNETES=oldest chooses the oldest supported Kubernetes instead of the newest.
`;

const { values } = parseArgs({
  options: { user: { type: "string", multiple: true }, help: { type: "boolean" } },
});
if (values.help) {
  process.stdout.write(help);
} else {
  await runUntilInterrupted(values.user ?? []);
}

async function runUntilInterrupted(users: string[]): Promise<void> {
  const interrupted = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  const starting = startControlPlane({
    progress: terminalProgress(),
    users: ["stranger", ...users],
  });
  // Ctrl-C during the start ends this process; the supervisor cleans up when its pipe closes.
  const interruption = interrupted.then(() => "interrupted" as const);
  const first = await Promise.race([starting, interruption]);
  if (first === "interrupted") process.exit(130);

  await using controlPlane = first;
  const { binaries, etcd, apiserver, controllerManager, total } = controlPlane.timings;
  const figures = Object.entries({
    binaries,
    etcd,
    apiserver,
    "controller manager": controllerManager,
    total,
  });
  const timings = figures.map(([name, ms]) => `${name} ${(ms / 1000).toFixed(1)} s`).join(", ");
  process.stdout.write(`
Ready: ${timings}

  export KUBECONFIG=${controlPlane.kubeconfigPath}
  alias kubectl=${controlPlane.kubectlPath}

To run the tests against this control plane:
  export VAULTSYNC_CONTROL_PLANE=${controlPlane.directory}

Ctrl-C stops it.
`);
  await interrupted;
  process.stderr.write("Stopping the control plane.\n");
}
