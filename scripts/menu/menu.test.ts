import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { runAll, runNamed, runProgram, type Menu } from "./menu.ts";

/** Exits with the number of its arguments. */
const count = { description: "counts", node: ["-e", "process.exit(process.argv.length - 1)"] };
const menu: Menu = { count };

afterEach(() => vi.unstubAllEnvs());

test("a named program gets the arguments after its name, and its exit code is the result", async () => {
  expect(await runNamed("npm run x", menu, ["count"])).toBe(0);
  expect(await runNamed("npm run x", menu, ["count", "a", "--b"])).toBe(2);
});

test("a list of programs ends with the first one that fails", async () => {
  const fails = { description: "fails", node: ["-e", "process.exit(7)"] };
  const never = { description: "never runs", node: ["-e", "process.exit(8)"] };
  expect(await runAll({ count, fails, never })).toBe(7);
});

test("a program has the caller's variables and its own, without the undefined ones", async () => {
  vi.stubEnv("KEPT", "1");
  vi.stubEnv("REMOVED", "5");
  const code =
    "const { KEPT, REMOVED, OWN } = process.env; process.exit(Number([KEPT, REMOVED ?? 0, OWN].join('')))";
  const environment = { OWN: "2", REMOVED: undefined };
  expect(await runProgram({ description: "", node: ["-e", code], environment }, [])).toBe(102);
});

test.each([[[], 2] as const, [["--help"], 0] as const, [["toString"], 2] as const])(
  "npm run bench prints every name when the arguments are %j",
  (args, code) => {
    const { status, stdout, stderr } = spawnSync("node", ["scripts/bench.ts", ...args], {
      encoding: "utf8",
    });
    expect(status).toBe(code);
    const text = code === 0 ? stdout : stderr;
    expect(text).toMatch(/^Usage: npm run bench -- NAME/u);
    expect(text).toMatch(/^ {2}hot-row {6}\S/mu);
  },
);

const written = /node: \["(scripts\/[^"]+)"\]/gu;

test.each(["bench", "build", "pictures", "test"])(
  "every file that scripts/%s.ts starts exists",
  (script) => {
    const files = Array.from(
      readFileSync(`scripts/${script}.ts`, "utf8").matchAll(written),
      ([, file = ""]) => file,
    );
    expect(files.length).toBeGreaterThan(1);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  },
);
