import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Failure } from "./simulate.ts";

const SCRIPT = join(import.meta.dirname, "main.ts");
const RECONCILER = new URL(
  "../../src/operator/controllers/connection/connection-reconciler.ts",
  import.meta.url,
);
/** A rejection that nothing handles would end the operator. */
const BUG = `
import { ConnectionReconciler } from "${RECONCILER.href}";
const { reconcile } = ConnectionReconciler.prototype;
ConnectionReconciler.prototype.reconcile = function (...args) {
  void Promise.reject(new Error("planted"));
  return reconcile.apply(this, args);
};
`;

let directory: AsyncDisposable & { readonly path: string };

beforeEach(async () => {
  directory = await mkdtempDisposable(join(tmpdir(), "simulation-"));
  await writeFile(join(directory.path, "bug.mjs"), BUG);
});

afterEach(() => directory[Symbol.asyncDispose]());

function run(
  args: readonly string[],
  { bug = false } = {},
): Promise<{ code: number; output: string; errors: string }> {
  const preloaded = bug ? ["--import", join(directory.path, "bug.mjs")] : [];
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [...preloaded, SCRIPT, ...args],
      { cwd: directory.path },
      (_, output, errors) => resolve({ code: child.exitCode ?? -1, output, errors }),
    );
  });
}

describe("npm run simulation", { timeout: 180_000 }, () => {
  test("shortens a violation, writes it to a file, and repeats it until it is fixed", async () => {
    const { code, output } = await run(["--steps", "60", "--seed", "1", "--workers", "2"], {
      bug: true,
    });
    expect(code).toBe(1);
    expect(output).toMatch(
      /^seed 1, 60 steps, 2 workers\nseed 1, episode 0: exception: unhandled rejection: Error: planted\n/,
    );
    const [, replay = ""] =
      /\nRepeat it with: npm run simulation -- (--replay \S+)\n$/.exec(output) ?? [];
    const [option, file = ""] = replay.split(" ");
    const { seed, commands } = JSON.parse(
      await readFile(join(directory.path, file), "utf8"),
    ) as Failure;
    expect(option).toBe("--replay");
    expect(file).toEqual(`simulation-failure-${seed}.json`);
    expect(output).toContain(`\n\n${JSON.stringify(commands[0])}\n\n`);
    expect(commands).toHaveLength(1);

    const repeated = await run([option!, file], { bug: true });
    expect(repeated.code).toBe(1);
    expect(repeated.output).toContain("exception: unhandled rejection: Error: planted");
    expect(await run([option!, file])).toEqual({
      code: 0,
      output: "no invariant is violated\n",
      errors: "",
    });
  });

  test("reports the steps that are done, and exits with 0 without a violation", async () => {
    const { code, output } = await run(["--steps", "30", "--seed", "7", "--workers", "1"]);
    expect(output).toMatch(
      /^seed 7, 30 steps, 1 workers\n30 of 30 steps in \d+ s, \d+ per second\nno invariant is violated\n$/,
    );
    expect(code).toBe(0);
  });

  test("prints the pairs of features of a run with --pairs", async () => {
    const { code, output } = await run(["--pairs", "--steps", "2000", "--seed", "7"]);
    expect(code).toBe(0);
    expect(output).toMatch(/^seed 7, 2000 steps: episodes with each pair of features/);
    expect(output).toMatch(/\n5 Orphan( +\d+){4}\n6 Merge( +\d+){4} +-\n/);
    expect(output).toMatch(/\n\d+ pairs are in no episode\n/);
  });

  test("explains its options with --help", async () => {
    const { code, output } = await run(["--help"]);
    expect(code).toBe(0);
    for (const option of [
      "--steps N",
      "--seed S",
      "--from EPISODE",
      "--all",
      "--workers N",
      "--replay FILE",
      "--pairs",
    ])
      expect(output).toContain(`  ${option} `);
  });

  test.for([
    [["--steps", "many"], "--steps many: expected a whole number from 1 to 1000000000"],
    [["--workers", "0"], "--workers 0: expected a whole number from 1 to 1000"],
    [["--step", "5"], "Unknown option '--step'"],
    [["--replay", "none.json"], "--replay none.json: cannot be read as JSON: ENOENT"],
    [
      ["--replay", "empty.json"],
      "--replay empty.json: expected a seed and commands, as a run with a violation writes them",
    ],
  ] as const)("rejects %j", async ([args, message]) => {
    await writeFile(join(directory.path, "empty.json"), "null");
    const { code, output, errors } = await run(args);
    expect(errors).toMatch(/^error: .*\nnpm run simulation -- --help shows the options\.\n$/);
    expect(errors).toContain(message);
    expect({ code, output }).toEqual({ code: 2, output: "" });
  });
});
