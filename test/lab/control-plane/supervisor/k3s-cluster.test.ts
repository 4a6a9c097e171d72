import { expect, test } from "vitest";
import { K3sServer } from "./k3s-cluster.ts";

test("the server of k3s has one loopback port, our directory, and no agent", () => {
  const server = new K3sServer("k3s:1", { name: "ours", directory: "/tmp/plane", port: 20_123 });
  expect(Reflect.get(server, "hostConfig")).toMatchObject({
    Binds: ["/tmp/plane:/vaultsync:rw"],
    PortBindings: { "6443/tcp": [{ HostIp: "127.0.0.1", HostPort: "20123" }] },
  });
  expect(Reflect.get(server, "createOpts")).toMatchObject({ Image: "k3s:1", name: "ours" });
  const { Cmd } = Reflect.get(server, "createOpts");
  expect(Cmd.slice(0, 2)).toEqual(["server", "--disable-agent"]);
  expect(Cmd).toContain("--kube-apiserver-arg=token-auth-file=/vaultsync/tokens.csv");
  expect(Cmd).toContain("--kube-apiserver-arg=audit-log-path=/vaultsync/audit.log");
});
