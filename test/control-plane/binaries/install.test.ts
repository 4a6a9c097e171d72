import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentProgress } from "../progress.ts";
import { install } from "./install.ts";
import { missingComponents } from "./missing-components.ts";
import { components } from "./version.ts";

let root: string;
let cache: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "vaultsync-install-"));
  cache = join(root, "v1");
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

async function makeAll(directory: string): Promise<void> {
  for (const name of components) await writeFile(join(directory, name), name, { mode: 0o755 });
}

async function leftovers(): Promise<string[]> {
  return (await readdir(root)).filter((name) => name.includes(".tmp-"));
}

test("install fills the cache once and uses it afterwards", async () => {
  await install(cache, silentProgress, makeAll);
  await install(cache, silentProgress, () => Promise.reject(new Error("called twice")));
  expect(await readFile(join(cache, "etcd"), "utf8")).toBe("etcd");
  expect(await leftovers()).toEqual([]);
});

test("of two concurrent installs one runs and the other uses its result", async () => {
  let runs = 0;
  const make = async (directory: string): Promise<void> => {
    runs++;
    await makeAll(directory);
  };
  await Promise.all([install(cache, silentProgress, make), install(cache, silentProgress, make)]);
  expect(runs).toBe(1);
});

test("a failed install leaves no cache and no temporary files, and can be retried", async () => {
  const broken = install(cache, silentProgress, async (directory) => {
    await writeFile(join(directory, "etcd"), "", { mode: 0o755 });
    throw new Error("disk full");
  });
  await expect(broken).rejects.toThrow("disk full");
  expect(await leftovers()).toEqual([]);
  await install(cache, silentProgress, makeAll);
  expect(await missingComponents(cache)).toEqual([]);
});

test("install rejects an incomplete result", async () => {
  const partial = install(cache, silentProgress, (directory) => writeFile(join(directory, "etcd"), "", { mode: 0o755 }));
  await expect(partial).rejects.toThrow("missing from the result: kube-apiserver, kube-controller-manager, kubectl");
  expect(await missingComponents(cache)).toHaveLength(components.length);
});

test("install replaces an incomplete cache", async () => {
  await mkdir(cache);
  await writeFile(join(cache, "etcd"), "incomplete");
  await install(cache, silentProgress, makeAll);
  expect(await readFile(join(cache, "etcd"), "utf8")).toBe("etcd");
});

test("install continues after the lock holder was killed and removes its temporary files", async () => {
  const program = `
    import { install } from ${JSON.stringify(join(import.meta.dirname, "install.ts"))};
    const progress = { note() {}, update() {} };
    await install(${JSON.stringify(cache)}, progress, async () => { console.log("making"); await new Promise((r) => setTimeout(r, 60_000)); });`;
  const other = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: ["ignore", "pipe", "inherit"] });
  await once(other.stdout, "data");
  expect(await leftovers()).toHaveLength(1);
  const waiting: string[] = [];
  const mine = install(cache, { note: (line) => waiting.push(line), update: () => {} }, makeAll);
  await expect.poll(() => waiting).toHaveLength(1);
  other.kill("SIGKILL");
  await mine;
  expect(await missingComponents(cache)).toEqual([]);
  expect(await leftovers()).toEqual([]);
});
