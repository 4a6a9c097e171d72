import { mkdir, readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { TestDirectory } from "../test-directory.ts";
import { pythonTool, WrongChecksumError } from "./python-tool.ts";

const directory = new TestDirectory();

/** Returns an environment whose `python3` is this program of Node. */
async function withPython(program: string): Promise<NodeJS.ProcessEnv> {
  await mkdir(directory.join("bin"));
  await writeFile(directory.join("bin", "python3"), `#!${process.execPath}\n${program}\n`, {
    mode: 0o755,
  });
  return { PATH: directory.join("bin"), XDG_CACHE_HOME: directory.join("cache") };
}

test("pythonTool installs the pinned package once, with its checksum", async () => {
  const environment = await withPython(`
    const fs = require("node:fs");
    const after = (option) => process.argv[process.argv.indexOf(option) + 1];
    fs.mkdirSync(after("--target") + "/bin", { recursive: true });
    fs.writeFileSync(after("--target") + "/bin/zizmor", "", { mode: 0o755 });
    const { argv } = process;
    fs.appendFileSync(${JSON.stringify(directory.join("runs"))}, JSON.stringify([argv[2], argv[3], argv[4], after("--requirement"), argv.includes("--require-hashes")]) + "\\n");`);
  const program = await pythonTool("zizmor", { environment });
  expect(await pythonTool("zizmor", { environment })).toBe(program);
  const runs = (await readFile(directory.join("runs"), "utf8")).trim().split("\n");
  expect(runs.map((line): unknown => JSON.parse(line))).toEqual([
    ["-m", "pip", "install", expect.stringMatching(/python\/zizmor\.txt$/), true],
  ]);
});

test("pythonTool without Python says what is missing", async () => {
  const environment = { PATH: directory.path, XDG_CACHE_HOME: directory.join("cache") };
  const failure = await pythonTool("zizmor", { environment }).catch((error: unknown) => error);
  expect(failure).not.toBeInstanceOf(WrongChecksumError);
  expect(String(failure)).toContain(
    "zizmor is installed with `python3 -m pip`, which failed: Error: spawn python3 ENOENT",
  );
});

test("a package with another checksum is an error, not a missing program", async () => {
  const environment = await withPython(`
    console.error("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.");
    process.exitCode = 1;`);
  const failure = await pythonTool("zizmor", { environment }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(WrongChecksumError);
  expect(String(failure)).toContain("has another checksum than the one in");
});

test("each requirements file pins one package with a checksum for each platform", async () => {
  for (const name of ["hadolint", "shellcheck", "zizmor"]) {
    const [pin = "", ...hashes] = (
      await readFile(new URL(`python/${name}.txt`, import.meta.url), "utf8")
    )
      .trim()
      .split(/ \\\n +/);
    expect(pin).toMatch(/^[\w-]+==[\d.]+$/);
    expect(hashes.length).toBeGreaterThan(0);
    for (const hash of hashes) expect(hash).toMatch(/^--hash=sha256:[0-9a-f]{64}$/);
  }
});
