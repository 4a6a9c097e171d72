import { beforeAll, expect, inject, test } from "vitest";
import { packageVersion } from "../../src/lib/package-version.ts";
import { NodeCluster } from "../lab/node/node-cluster.ts";
import { system } from "./support/operator-pods.ts";
import { NodeNamespace } from "./support/scene.ts";

let cluster: NodeCluster;
beforeAll(async () => {
  cluster = await NodeCluster.open(inject("controlPlane"));
});

const node = "/usr/local/bin/node";

/** Runs the Node of the image in a pod of the operator, and returns its output. */
const exec = (...args: readonly string[]): Promise<string> =>
  cluster.kubectlOutput(["exec", "deployment/vaultsync", "--", node, ...args], {
    namespace: system,
  });

test("a command of docs/install.md runs in the pod of the operator", async () => {
  expect(await exec("/app/dist/main.js", "--version")).toBe(`${packageVersion()}\n`);
});

test("the operator's container has a read-only root, user 65532 and no capability", async () => {
  const program = `
    const { readFileSync, writeFileSync } = require("node:fs");
    const failure = (path) => { try { writeFileSync(path, ""); } catch ({ code }) { return code; } };
    const status = readFileSync("/proc/1/status", "utf8");
    const [, capabilities] = /^CapEff:\\t(.+)$/mu.exec(status);
    const [, seccomp] = /^Seccomp:\\t(.+)$/mu.exec(status);
    const root = failure("/file");
    console.log(JSON.stringify({ user: process.getuid(), root, tmp: failure("/tmp/file"), capabilities, seccomp }));
  `;
  expect(JSON.parse(await exec("--eval", program))).toEqual({
    user: 65_532,
    root: "EROFS",
    tmp: "EROFS",
    capabilities: "0000000000000000",
    seccomp: "2",
  });
});

test("every address of the operator's Service for metrics responds with them to a pod", async () => {
  const program = `
    const host = "vaultsync-metrics.${system}.svc";
    const read = async ({ address }) => (await fetch("http://" + address + ":8080/metrics")).text();
    require("node:dns").promises.lookup(host, { all: true })
      .then((found) => Promise.all(found.map(read)))
      .then((texts) => console.log(JSON.stringify(texts)));
  `;
  // The policy of the operator denies it connections to this port.
  const scraper = await NodeNamespace.empty("scraper");
  await scraper.run("Deployment", "scraper", {});
  await scraper.reader("scraper");
  const output = await scraper.kubectl("exec", "deployment/scraper", "--", node, "--eval", program);
  const version = `vaultsync_build_info{version="${packageVersion()}"} 1`;
  expect(JSON.parse(output)).toEqual([
    expect.stringContaining(version),
    expect.stringContaining(version),
  ]);
});
