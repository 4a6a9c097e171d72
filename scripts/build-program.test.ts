import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type * as Check from "../src/operator/sync/check-value-aside.ts";
import type * as Aside from "../src/operator/template/render-aside.ts";
import { Redacted } from "../src/lib/redacted.ts";
import { packageVersion } from "../src/lib/package-version.ts";
import { variablesOf } from "../test/lab/template/render.ts";
import { buildProgram } from "./build-program.ts";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);

/** Prints the URL of each file that is loaded. */
const PRINT_FILES = `import { registerHooks } from "node:module";
registerHooks({ load: (url, context, next) => (process.stderr.write(url + "\\n"), next(url, context)) });`;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "vaultsync-build-"));
  await copyFile(join(root, "package.json"), join(directory, "package.json"));
  await symlink(join(root, "node_modules"), join(directory, "node_modules"));
  await buildProgram(join(directory, "dist"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const program = (): string => join(directory, "dist/main.js");

test("the built program knows the version of its package", async () => {
  const { stdout } = await run(process.execPath, [program(), "--version"]);
  expect(stdout).toBe(`${packageVersion()}\n`);
});

test("a built operator loads few files, and no package from node_modules", async () => {
  const hooks = ["--import", `data:text/javascript,${encodeURIComponent(PRINT_FILES)}`];
  const command = [...hooks, program(), "operator", "--kubeconfig", "/absent"];
  const result = await run(process.execPath, command).catch((error: unknown) => error);
  const { stderr } = result as { readonly stderr: string };
  expect(stderr).toContain("cannot read the kubeconfig /absent");
  const files = stderr.split("\n").filter((line) => line.startsWith("file:"));
  expect(files.filter((url) => url.includes("/node_modules/"))).toEqual([]);
  expect(files.length).toBeGreaterThan(0);
  expect(files.length).toBeLessThan(80);
});

const built = (module: string): string =>
  pathToFileURL(join(directory, "dist/operator", module)).href;

test("a module of a build starts its own thread, for templates and for rules", async () => {
  const { checkValueAside } = (await import(built("sync/check-value-aside.js"))) as typeof Check;
  const value = { bytes: Buffer.from("x".repeat(10_000)), now: undefined };
  expect(await checkValueAside({ pattern: "^x+$" }, value, "shop")).toBeUndefined();
  expect(await checkValueAside({ pattern: "^y" }, value, "shop")).toMatchObject({
    rule: "pattern",
  });
  const { renderAside } = (await import(built("template/render-aside.js"))) as typeof Aside;
  const input = {
    template: { data: { key: "{{ password | htpasswd: user }}" } },
    variables: variablesOf({ user: "ann", password: "p" }),
    seed: new Redacted(Buffer.from("seed")),
  };
  expect(await renderAside(input, "shop")).toMatchObject({ ok: true });
});
