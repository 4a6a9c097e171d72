export const dnsImage = "docker.io/library/coredns:local";

const namespace = "kube-system";
const name = "coredns";
const labels = { "k8s-app": "kube-dns" };

const corefile = `.:53 {
    errors
    health
    ready
    kubernetes cluster.local in-addr.arpa {
        ttl 5
    }
    cache 5
}
`;

/** Returns the objects of a cluster's DNS at a Service's address. */
export function clusterDns(address: string): object[] {
  const metadata = { name, namespace };
  const ports = [
    { name: "dns", port: 53, protocol: "UDP" },
    { name: "dns-tcp", port: 53, protocol: "TCP" },
  ];
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "system:coredns" },
      rules: [
        {
          apiGroups: [""],
          resources: ["services", "pods", "namespaces"],
          verbs: ["list", "watch"],
        },
        {
          apiGroups: ["discovery.k8s.io"],
          resources: ["endpointslices"],
          verbs: ["list", "watch"],
        },
      ],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "system:coredns" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "system:coredns",
      },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { Corefile: corefile } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "kube-dns", namespace },
      spec: { clusterIP: address, selector: labels, ports },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: dnsPod() },
      },
    },
  ];
}

function dnsPod(): object {
  return {
    serviceAccountName: name,
    priorityClassName: "system-cluster-critical",
    dnsPolicy: "Default",
    containers: [
      {
        name,
        image: dnsImage,
        imagePullPolicy: "Never",
        args: ["-conf", "/etc/coredns/Corefile"],
        readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1 },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] },
        },
        volumeMounts: [{ name: "config", mountPath: "/etc/coredns", readOnly: true }],
      },
    ],
    volumes: [{ name: "config", configMap: { name } }],
  };
}
