/** Returns a kubeconfig with one cluster and one user, as JSON (JSON is valid YAML). */
export function kubeconfig(access: {
  server: string;
  ca: string;
  token: string;
  user: string;
  namespace?: string;
}): string {
  const { server, ca, token, user, namespace } = access;
  return JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        {
          name: "vaultsync",
          cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") },
        },
      ],
      users: [{ name: user, user: { token } }],
      contexts: [
        {
          name: "vaultsync",
          context: {
            cluster: "vaultsync",
            user,
            ...(namespace === undefined ? {} : { namespace }),
          },
        },
      ],
      "current-context": "vaultsync",
    },
    undefined,
    2,
  );
}
