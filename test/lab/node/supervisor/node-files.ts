import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { certificate } from "../../certificates.ts";
import { type NodeLayout, nodeName, registriesDirectory } from "../layout.ts";
import { cniDirectory } from "../requirements.ts";

/** The paths of a node's files, relative to its directory unless they are absolute. */
export const nodeFiles = {
  kubelet: "kubelet.json",
  proxy: "kube-proxy.json",
  containerd: "containerd.toml",
  clientAuthority: "kubelet-client-ca.crt",
  clientCertificate: "kubelet-client.crt",
  clientKey: "kubelet-client.key",
} as const;

export const sandboxImage = "docker.io/library/pause:local";

function kubeletConfiguration({ directory, dns, cgroup }: NodeLayout): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    // The API server alone has a certificate.
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: join(directory, nodeFiles.clientAuthority) },
    },
    authorization: { mode: "AlwaysAllow" },
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    evictionHard: { "memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%" },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    oomScoreAdj: 0,
    maxPods: 200,
    containerRuntimeEndpoint: `unix://${directory}/containerd.sock`,
    podLogsDir: join(directory, "pod-logs"),
    volumePluginDir: join(directory, "volume-plugins"),
    resolvConf: join(directory, "resolv.conf"),
    clusterDNS: [dns],
    clusterDomain: "cluster.local",
    // Frequent, for tests; the default is a minute.
    syncFrequency: "10s",
    nodeStatusUpdateFrequency: "5s",
  };
}

function proxyConfiguration({ directory, pods }: NodeLayout): object {
  const unchanged = {
    maxPerCore: 0,
    min: 0,
    tcpEstablishedTimeout: "0s",
    tcpCloseWaitTimeout: "0s",
  };
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    clusterCIDR: pods,
    hostnameOverride: nodeName,
    oomScoreAdj: 0,
    clientConnection: { kubeconfig: join(directory, "kube-proxy.kubeconfig") },
    conntrack: unchanged,
    metricsBindAddress: "127.0.0.1:10249",
    healthzBindAddress: "127.0.0.1:10256",
  };
}

function containerdConfiguration({ directory }: NodeLayout): string {
  const runtime = "plugins.'io.containerd.cri.v1.runtime'";
  return `version = 3
root = "${directory}/containerd"
state = "/run/containerd"
# They would make directories outside of the node's.
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]

[grpc]
address = "${directory}/containerd.sock"

[plugins.'io.containerd.cri.v1.images']
snapshotter = "overlayfs"

[plugins.'io.containerd.cri.v1.images'.registry]
config_path = "${directory}/${registriesDirectory}"

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "${sandboxImage}"

[${runtime}]
# Root without CAP_SYS_RESOURCE cannot lower a score.
restrict_oom_score_adj = true

[${runtime}.cni]
bin_dirs = ["${cniDirectory}"]
conf_dir = "${directory}/cni"

[${runtime}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[${runtime}.containerd.runtimes.runc.options]
SystemdCgroup = false
`;
}

/** A link from each pod to the node. The node routes: pods and Services need no bridge. */
function podNetwork({ directory, pods }: NodeLayout): object {
  const ipam = {
    type: "host-local",
    ranges: [[{ subnet: pods }]],
    routes: [{ dst: "0.0.0.0/0" }],
    dataDir: join(directory, "addresses"),
  };
  return { cniVersion: "1.0.0", name: "vaultsync", plugins: [{ type: "ptp", ipam }] };
}

/** Writes the settings of a node's programs, and the API server's certificate for the kubelet. */
export async function writeNodeFiles(layout: NodeLayout): Promise<void> {
  const write = (path: string, text: string): Promise<void> =>
    writeFile(join(layout.directory, path), text, { mode: 0o600 });
  const json = (path: string, value: object): Promise<void> => write(path, JSON.stringify(value));
  await json(nodeFiles.kubelet, kubeletConfiguration(layout));
  await json(nodeFiles.proxy, proxyConfiguration(layout));
  await write(nodeFiles.containerd, containerdConfiguration(layout));
  await json("cni/10-vaultsync.conflist", podNetwork(layout));
  await write("resolv.conf", "");
  const authority = certificate("kubelet-client-ca");
  const client = certificate("kube-apiserver", { issuer: authority, hosts: ["kube-apiserver"] });
  await write(nodeFiles.clientAuthority, authority.cert);
  await write(nodeFiles.clientCertificate, client.cert);
  await write(nodeFiles.clientKey, client.keyPem);
}
