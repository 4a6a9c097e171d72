import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";

const directory = new TestDirectory();

test("the operator says which kubeconfig it cannot read", async () => {
  const { code, stderr } = await runInProcess(["operator"], { KUBECONFIG: "/nonexistent/config" });
  expect(code).toBe(1);
  expect(stderr).toBe(
    "vaultsync: cannot read the kubeconfig /nonexistent/config (from KUBECONFIG): ENOENT: set KUBECONFIG or give --kubeconfig FILE\n",
  );
});

test("the operator says which flag chooses another address if its own is in use", async () => {
  const kubeconfig = directory.join("config");
  const cluster = 'clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]';
  await writeFile(
    kubeconfig,
    `current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n${cluster}\n`,
  );
  const taken = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void taken.close());
  await once(taken, "listening");
  const address = taken.address();
  const listen = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const { code, stderr } = await runInProcess([
    "operator",
    "--kubeconfig",
    kubeconfig,
    "--listen",
    listen,
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain(`${listen} is in use (EADDRINUSE): stop the program that listens there`);
  expect(stderr).toContain("or choose another with --listen HOST:PORT");
});
