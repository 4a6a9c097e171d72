import { execFile } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../lab/seeded-random.ts";
import { expressionTargets } from "./expressions.ts";
import { fuzz, type FuzzTarget, LIMIT_MS, timeOf } from "./search.ts";
import { ServerTargets } from "./server-targets.ts";
import { render } from "./shape.ts";
import { parserTargets } from "./targets.ts";
import { shapeTargets, templateTargets } from "./template-targets.ts";

const SCRIPT = join(import.meta.dirname, "main.ts");
/** Number of inputs of each target: a slow machine tries as many as a fast one. */
const INPUTS = { parser: 5_000, expression: 5_000, template: 200, shape: 2_000, server: 2_000 };

/** Decodes the last string again at every colon, as the parser of JSON bodies once did. */
function quadraticScan(input: Buffer): void {
  const text = input.toString("latin1");
  let string = "";
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') {
      const end = text.indexOf('"', at + 1);
      if (end === -1) return;
      string = text.slice(at, end + 1);
      at = end;
    } else if (text[at] === ":") {
      try {
        JSON.parse(string);
      } catch {
        // Not a name.
      }
    }
  }
}

const planted: readonly (FuzzTarget & { readonly example: string })[] = [
  {
    name: "a quadratic scan",
    maxBytes: 1_048_576,
    fragments: ["[", "]", ":", '"', ",", "A", "{", "}"],
    parse: quadraticScan,
    example: '"',
  },
  {
    name: "an exponential expression",
    maxBytes: 16_384,
    fragments: ["a", "b", " ", ",", "@", "."],
    parse: (input) => /^(?:[a-z]+\.?)+@$/u.test(input.toString("latin1")),
    example: "a",
  },
  {
    name: "a quadratic expression",
    maxBytes: 1_048_576,
    fragments: ["a", "b", " ", ",", "@", "."],
    parse: (input) => / +$/u.test(input.toString("latin1")),
    example: " ",
  },
];

const failures = async (targets: readonly FuzzTarget[], inputs: number): Promise<unknown[]> => {
  const found: unknown[] = [];
  for (const target of targets) {
    const { failure } = await fuzz(target, seededRandom(1), { inputs });
    if (failure) found.push(failure);
  }
  return found;
};

/** Returns the first inputs that are tried for a seed. */
const firstInputs = async (seed: number) => {
  const tried: string[] = [];
  const target = {
    ...parserTargets()[0]!,
    shapes: [],
    parse: (input: Buffer) => tried.push(input.toString("latin1")),
  };
  await fuzz(target, seededRandom(seed), { inputs: 10 });
  return tried.slice(0, 10);
};

describe("fuzzing with a time oracle", { timeout: 300_000 }, () => {
  test.each(planted)("finds $name", async (target) => {
    const { failure } = await fuzz(target, seededRandom(1), { ms: 60_000 });
    expect(failure?.ms).toBeGreaterThan(LIMIT_MS);
    expect(failure?.shape.some(({ text }) => text.includes(target.example))).toBe(true);
    // The search saw the shortest of several times, a little above the limit; this is another one.
    const again = await timeOf(target, render(failure!.shape, failure!.bytes));
    expect(again).toBeGreaterThan(LIMIT_MS / 2);
  });

  test("starts with the same inputs for the same seed", async () => {
    expect(await firstInputs(1)).toEqual(await firstInputs(1));
    expect(await firstInputs(2)).not.toEqual(await firstInputs(1));
  });

  test("finds no parser that takes more than 50 ms of the thread for 1 MiB", async () => {
    expect(await failures(parserTargets(), INPUTS.parser)).toEqual([]);
  });

  test("finds no expression that takes more than 50 ms for 16 KiB", async () => {
    const targets = expressionTargets();
    expect(targets.map(({ name }) => name)).toContain(
      "expression /^[^\\s@\\p{C}]+@[^\\s@\\p{C}]+$/u",
    );
    expect(await failures(targets, INPUTS.expression)).toEqual([]);
  });

  test("finds no template, and no input of its functions, that takes more than 50 ms", async () => {
    expect(await failures(templateTargets(), INPUTS.template)).toEqual([]);
  });

  test("finds no content of a typed Secret that takes more than 50 ms", async () => {
    expect(await failures(shapeTargets(), INPUTS.shape)).toEqual([]);
  });

  test("finds no head of a request that takes a server more than 50 ms", async () => {
    await using server = await ServerTargets.start();
    expect(await failures(server.list, INPUTS.server)).toEqual([]);
  });

  test("the script replays an input, and fails while it is slow", async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), "fuzz-"));
    const file = join(directory.path, "slow.json");
    await writeFile(
      file,
      JSON.stringify({
        target: "JSON body",
        shape: [{ text: "[", pumped: true }],
        bytes: 1024,
        ms: 60,
      }),
    );
    const replay = (...preloaded: string[]) =>
      new Promise<{ code: number; output: string }>((resolve) => {
        const child = execFile(
          process.execPath,
          [...preloaded, SCRIPT, "--replay", file],
          (_, output, errors) => resolve({ code: child.exitCode ?? -1, output: output + errors }),
        );
      });
    expect(await replay()).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^JSON body: 1024 bytes take [0-9.]+ ms\n$/u),
    });
    const slow = join(directory.path, "slow.mjs");
    await writeFile(
      slow,
      "const parse = JSON.parse; TextDecoder.prototype.decode = () => { for (const end = Date.now() + 70; Date.now() < end; ); return parse('[]'); };",
    );
    expect((await replay("--import", slow)).code).toBe(1);
  });
});
