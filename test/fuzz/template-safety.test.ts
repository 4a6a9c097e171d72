import { createHook } from "node:async_hooks";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { Redacted } from "../../src/lib/redacted.ts";
import { Budget, INLINE_UNITS } from "../../src/operator/template/budget.ts";
import { createEngine } from "../../src/operator/template/engine.ts";
import { renderTemplate, type Rendering } from "../../src/operator/template/render-template.ts";
import { Canaries } from "../lab/assertions/canary.ts";
import { chainPem, keyPem, keystores } from "../lab/template/keystores.ts";
import { TEMPLATE_TEXTS } from "./template-targets.ts";

/** Number of random templates; a variable of the environment can increase it. */
const RUNS = Number(process.env.VAULTSYNC_TEMPLATE_RUNS ?? 3_000);

const canaries = new Canaries();
const variables = new Map<string, Uint8Array>([
  ["text", Buffer.from(canaries.text("text"))],
  ["pw", Buffer.from(canaries.text("pw"))],
  ["a", Buffer.from(canaries.text("a"))],
  ["crt", Buffer.from(chainPem + canaries.text("crt"))],
  ["key", Buffer.from(keyPem)],
  ["p12", keystores.modern],
  ["bin", canaries.bytes("bin", 40)],
]);
canaries.known("key", keyPem.split("\n")[2]!);
const seed = new Redacted(canaries.bytes("seed", 32));

const render = (key: string): Rendering =>
  renderTemplate({ template: { data: { key } }, variables, seed }, INLINE_UNITS);
const templates = fc
  .array(fc.oneof(fc.constantFrom(...TEMPLATE_TEXTS), fc.string({ maxLength: 2 })), {
    maxLength: 24,
  })
  .map((texts) => texts.join(""));
/** Templates whose syntax is right: most of them are rendered. */
const expressions = fc
  .tuple(
    fc.constantFrom(
      "text",
      "pw",
      "bin",
      "crt",
      "p12",
      'vars["key"]',
      "'x'",
      "empty",
      "absent",
      "vars",
      "vars[text]",
      "empty.__proto__",
    ),
    fc.array(fc.constantFrom(...TEMPLATE_TEXTS.filter((text) => text.startsWith(" | "))), {
      maxLength: 4,
    }),
  )
  .map(([name, calls]) => `{{ ${name}${calls.join("")} }}`);
const any = fc.oneof(
  templates,
  expressions,
  fc.array(expressions, { maxLength: 3 }).map((list) => list.join(" ")),
);

const prototypes = [Object, Array, String, Function, Map, Uint8Array, Error].map(
  ({ prototype }) => prototype as object,
);
const members = (): readonly unknown[] =>
  prototypes.flatMap((prototype) =>
    Reflect.ownKeys(prototype).flatMap((name) => {
      const member = Object.getOwnPropertyDescriptor(prototype, name)!;
      return [name, ...Object.values(member)];
    }),
  );

const messageOf = (template: string): string => {
  const rendering = render(template);
  return rendering.ok ? "" : rendering.message;
};

/** The members before the first template was rendered. */
const before = members();

test("no message about a template contains a value", () => {
  const messages = fc.sample(any, RUNS).map((template) => [template, messageOf(template)] as const);
  expect(messages.filter(([, message]) => message !== "").length).toBeGreaterThan(RUNS / 10);
  const traces = canaries.tracesIn(Object.fromEntries(messages));
  expect(traces).toEqual([]);
});

test("no template reaches a file, the network, the environment, the output or a prototype", () => {
  const reached: string[] = [];
  const env = process.env;
  const spies = (
    [
      "openSync",
      "readFileSync",
      "statSync",
      "existsSync",
      "readdirSync",
      "realpathSync",
      "readFile",
      "stat",
    ] as const
  ).map((name) => vi.spyOn(fs, name));
  syncBuiltinESMExports();
  const output = [vi.spyOn(process.stdout, "write"), vi.spyOn(process.stderr, "write")];
  const hook = createHook({ init: (_, type) => void reached.push(type) });
  try {
    process.env = new Proxy(env, {
      get: (_, name) => void reached.push(`env ${String(name)}`),
      ownKeys: () => [],
    });
    hook.enable();
    fc.assert(
      fc.property(any, (template) => void render(template)),
      { numRuns: RUNS },
    );
  } finally {
    hook.disable();
    process.env = env;
  }
  const called = [...spies, ...output]
    .filter(({ mock }) => mock.calls.length > 0)
    .map((spy) => spy.getMockName());
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  expect(reached).toEqual([]);
  expect(called).toEqual([]);
  const after = members();
  expect(after.length).toBe(before.length);
  expect(after.every((member, index) => Object.is(member, before[index]))).toBe(true);
});

test("equal input has equal output", () => {
  fc.assert(
    fc.property(any, (template) => {
      expect(render(template)).toEqual(render(template));
    }),
    { numRuns: RUNS / 10 },
  );
});

test("the interpreter has these tags and functions and no others", () => {
  const engine = createEngine(new Budget(0), () => Buffer.alloc(0));
  expect(Object.keys(engine.tags).sort()).toEqual(["comment", "for", "if", "raw", "unless"]);
  const text = "base64 base64decode default indent json lower quote trim upper urlencode";
  const pem = "pem_certificates pem_chain pem_key pem_leaf";
  const keystores12 = "pkcs12 pkcs12_certificates pkcs12_key pkcs12_truststore jks jks_truststore";
  expect(Object.keys(engine.filters).sort()).toEqual(
    `${text} ${pem} ${keystores12} dockerconfigjson htpasswd`.split(" ").sort(),
  );
});
