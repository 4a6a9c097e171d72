import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { TestDirectory } from "../test-directory.ts";
import { silentProgress, type Progress } from "../control-plane/progress.ts";
import { install, type InstallOptions, missingFiles } from "./install.ts";

const names = ["kubectl", "helm"];

const root = new TestDirectory();
let cache: string;
beforeEach(() => {
  cache = root.join("v1");
});

function options(progress: Progress = silentProgress): InstallOptions {
  return { cache, names, progress };
}

async function makeAll(directory: string): Promise<void> {
  for (const name of names) await writeFile(join(directory, name), name, { mode: 0o755 });
}

async function leftovers(): Promise<string[]> {
  return (await readdir(root.path)).filter((name) => name.includes(".tmp-"));
}

test("install fills the cache once and uses it afterwards", async () => {
  await install(options(), makeAll);
  await install(options(), () => Promise.reject(new Error("called twice")));
  expect(await readFile(join(cache, "helm"), "utf8")).toBe("helm");
  expect(await leftovers()).toEqual([]);
});

test("of two concurrent installs one runs and the other uses its result", async () => {
  let runs = 0;
  const make = async (directory: string): Promise<void> => {
    runs++;
    await makeAll(directory);
  };
  await Promise.all([install(options(), make), install(options(), make)]);
  expect(runs).toBe(1);
});

test("a failed install leaves no cache and no temporary files, and can be retried", async () => {
  const broken = install(options(), async (directory) => {
    await writeFile(join(directory, "helm"), "", { mode: 0o755 });
    throw new Error("disk full");
  });
  await expect(broken).rejects.toThrow("disk full");
  expect(await leftovers()).toEqual([]);
  await install(options(), makeAll);
  expect(await missingFiles(cache, names)).toEqual([]);
});

test("install rejects an incomplete result", async () => {
  const partial = install(options(), (directory) =>
    writeFile(join(directory, "helm"), "", { mode: 0o755 }),
  );
  await expect(partial).rejects.toThrow("missing from the result: kubectl");
  expect(await missingFiles(cache, names)).toHaveLength(names.length);
});

test("install replaces an incomplete cache", async () => {
  await mkdir(cache);
  await writeFile(join(cache, "helm"), "incomplete");
  await install(options(), makeAll);
  expect(await readFile(join(cache, "helm"), "utf8")).toBe("helm");
});

test("install continues after the lock holder was killed and removes its temporary files", async () => {
  const program = `
    import { install } from ${JSON.stringify(join(import.meta.dirname, "install.ts"))};
    const progress = { note() {}, update() {} };
    await install({ cache: ${JSON.stringify(cache)}, names: ["helm"], progress }, async () => { console.log("making"); await new Promise((r) => setTimeout(r, 60_000)); });`;
  const other = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(other.stdout, "data");
  expect(await leftovers()).toHaveLength(1);
  const waiting: string[] = [];
  const mine = install(options({ note: (line) => waiting.push(line), update: () => {} }), makeAll);
  await expect.poll(() => waiting).toHaveLength(1);
  other.kill("SIGKILL");
  await mine;
  expect(await missingFiles(cache, names)).toEqual([]);
  expect(await leftovers()).toEqual([]);
});
