import { once } from "node:events";
import { parseArgs } from "node:util";
import { terminalProgress } from "../test/lab/control-plane/progress.ts";
import type { NodeCluster } from "../test/lab/node/node-cluster.ts";
import { whyNoNode } from "../test/lab/node/requirements.ts";
import { startNode } from "../test/lab/node/start.ts";
import { messageOf } from "../src/lib/errors.ts";

const help = `Start a Kubernetes cluster of one node that runs pods: control plane, containerd, kubelet, Services and DNS. Ctrl-C
stops it and removes everything that it made.

Usage: npm run cluster [-- --with-vaultsync]

  --with-vaultsync  build the image of this checkout, install the charts of the vault and of the operator, apply
                    examples/demo, and wait until a pod prints a synced file
  --help            show this help

Requires Linux, root, and on Debian the packages nftables, runc and containernetworking-plugins. The first run builds
Kubernetes, containerd and CoreDNS with Go 1.26 or later. All processes are in namespaces for themselves: this machine
gets a network interface, a directory of temporary files and control groups.
Exit codes: 0 stopped by Ctrl-C, 1 failed, 2 usage, 130 interrupted during the start.
`;

const progress = terminalProgress();
const print = (text: string): void => void process.stdout.write(text);

function parse() {
  const options = {
    "with-vaultsync": { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return messageOf(error);
  }
}

/** Starts everything and describes it. @throws Error that says what failed */
async function start(withVaultsync: boolean): Promise<NodeCluster & AsyncDisposable> {
  const started = performance.now();
  const cluster = await startNode({ progress });
  // Also the temporary files of an interrupted build are removed with the cluster.
  process.env["TMPDIR"] = cluster.directory;
  try {
    if (withVaultsync) {
      const { startVaultsync } = await import("./cluster/with-vaultsync.ts");
      const printed = await startVaultsync(cluster, progress);
      progress.note("kubectl logs -n vaultsync-demo shop");
      print(printed);
    }
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
  print(`
Ready after ${((performance.now() - started) / 1000).toFixed(0)} s.

  export KUBECONFIG=${cluster.kubeconfigPath}
  alias kubectl=${cluster.kubectlPath}

Addresses of pods and Services are reachable from this machine. Ctrl-C stops the cluster.
`);
  return cluster;
}

async function run(withVaultsync: boolean): Promise<number> {
  const why = await whyNoNode();
  if (why !== undefined) {
    progress.note(`cluster: ${why}`);
    return 1;
  }
  const interrupted = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  const interruption = interrupted.then(() => "interrupted" as const);
  const first = await Promise.race([start(withVaultsync), interruption]).catch((error: unknown) => {
    progress.note(`cluster: ${messageOf(error)}`);
  });
  // The supervisor removes everything when this process ends.
  if (first === undefined) return 1;
  if (first === "interrupted") return 130;
  await using _cluster = first;
  await interrupted;
  progress.note("Stopping the cluster.");
  return 0;
}

const values = parse();
if (typeof values === "string") {
  process.stderr.write(`${values}\n\n${help}`);
  process.exitCode = 2;
} else if (values.help) {
  print(help);
} else {
  // Not process.exitCode: a build that is in progress would keep this process alive.
  process.exit(await run(values["with-vaultsync"]));
}
