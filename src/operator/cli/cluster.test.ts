import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { expect, onTestFinished, test } from "vitest";
import { certificate } from "../../../test/lab/certificates.ts";
import { clusterSecret } from "../../../test/lab/kube/fanned-out-objects.ts";
import { ObjectServer } from "../../../test/lab/kube/object-server.ts";
import { runInProcess } from "../../../test/lab/real/processes/run-in-process.ts";
import { VaultsyncProcess } from "../../../test/lab/real/processes/vaultsync-process.ts";
import { TestDirectory } from "../../../test/lab/test-directory.ts";

const directory = new TestDirectory();

test("a denied request names the permission that it needs", async () => {
  const { cert, keyPem: key } = certificate("api", { hosts: ["127.0.0.1"] });
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden" };
  const metadata = { name: "db", namespace: "shop", uid: "1", resourceVersion: "1" };
  const object = { apiVersion: "vaultsync.dev/v1alpha1", kind: "VaultSecret", metadata, spec: {} };
  const server = createServer({ cert, key }, ({ method }, response) => {
    const body = method === "GET" ? object : { ...status, code: 403 };
    response.writeHead(method === "GET" ? 200 : 403, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  const url = `https://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const cluster = {
    server: url,
    "certificate-authority-data": Buffer.from(cert).toString("base64"),
  };
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: { token: "viewer" } }],
  };
  const kubeconfig = directory.join("config");
  await writeFile(kubeconfig, JSON.stringify(config));
  const { code, stderr } = await runInProcess([
    "sync",
    "db",
    "-n",
    "shop",
    "--kubeconfig",
    kubeconfig,
  ]);
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /Forbidden .*: request the permission to patch vaultsecrets shop\/db, or /u,
    ),
  ]);
});

test("a command that is interrupted fails, also in a script that continues after success", async () => {
  await using cluster = await ObjectServer.start([clusterSecret("registry")]);
  const { kubeconfig } = cluster;
  const args = ["sync", "clustervaultsecret/registry", "--kubeconfig", kubeconfig];
  await using sync = new VaultsyncProcess(args);
  await expect.poll(() => cluster.patches, { timeout: 30_000 }).toHaveLength(1);
  expect(await sync.stop("SIGINT")).toBe(1);
  expect(sync.stderr).toBe("vaultsync: interrupted\n");
});
