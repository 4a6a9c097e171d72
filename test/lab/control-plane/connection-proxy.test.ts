import { Agent, get } from "node:https";
import { text } from "node:stream/consumers";
import { beforeAll, expect, test } from "vitest";
import { sharedControlPlane } from "../kube/control-plane.ts";
import type { ControlPlane } from "./control-plane.ts";

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await sharedControlPlane();
});

function version(server: string, agent: Agent): Promise<string> {
  const { ca, token } = controlPlane.access;
  return new Promise((resolve, reject) => {
    const sent = get(
      new URL("/version", server),
      { ca, agent, headers: { authorization: `Bearer ${token}` } },
      (response) => {
        text(response).then(resolve, reject);
      },
    );
    sent.on("error", reject);
  });
}

test("the proxy counts connections, not requests", async () => {
  await using proxy = await controlPlane.connectionProxy();
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < 3; i++) expect(await version(proxy.server, agent)).toContain("gitVersion");
  expect({ accepted: proxy.accepted, open: proxy.open }).toEqual({ accepted: 1, open: 1 });
  agent.destroy();
  await expect.poll(() => proxy.open).toBe(0);
});

test("dropAll resets open connections, and new ones are accepted", async () => {
  await using proxy = await controlPlane.connectionProxy();
  const agent = new Agent({ keepAlive: true });
  await version(proxy.server, agent);
  expect(proxy.dropAll()).toBe(1);
  await expect.poll(() => proxy.open).toBe(0);
  expect(await version(proxy.server, new Agent())).toContain("gitVersion");
  expect(proxy.accepted).toBe(2);
});

test("the proxy resets new connections while refuse is true", async () => {
  await using proxy = await controlPlane.connectionProxy();
  proxy.refuse(true);
  await expect(version(proxy.server, new Agent())).rejects.toThrow(/ECONNRESET|disconnected/);
  proxy.refuse(false);
  expect(await version(proxy.server, new Agent())).toContain("gitVersion");
  expect(proxy.accepted).toBe(1);
});

test("kubectl works through the proxy with its kubeconfig", async () => {
  await using proxy = await controlPlane.connectionProxy();
  const kubeconfig = await controlPlane.kubeconfigFor({ user: "admin" }, { server: proxy.server });
  const listed = await controlPlane.kubectl(["get", "namespace", "default", "--output=name"], {
    kubeconfig,
  });
  expect(listed).toEqual({ stdout: "namespace/default\n", stderr: "", code: 0 });
  expect(proxy.accepted).toBeGreaterThan(0);
});
