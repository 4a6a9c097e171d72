import { Redacted } from "../../src/lib/redacted.ts";
import { INLINE_UNITS } from "../../src/operator/template/budget.ts";
import { renderTemplate } from "../../src/operator/template/render-template.ts";
import { shapeProblem } from "../../src/operator/sync/secret-shape.ts";
import { chainPem, keyPem, keystores } from "../lab/template/keystores.ts";
import type { FuzzTarget } from "./search.ts";

const MAX_TEMPLATE_BYTES = 16 * 1024;
const MAX_VALUE_BYTES = 1024 * 1024;

const seed = new Redacted(Buffer.alloc(32));
const many = Array.from({ length: 200 }, (_, index): [string, Buffer] => [
  `v${index}`,
  Buffer.from("x"),
]);
const known = new Map([
  ["text", Buffer.from('a"\\ü\n'.repeat(2_000))],
  ["crt", Buffer.from(chainPem)],
  ["key", Buffer.from(keyPem)],
  ["pw", Buffer.from("changeit")],
  ["p12", keystores.java],
  ["bin", Buffer.from([0xff, 0])],
  ...many,
]);

const renderInline = (text: string, variables: ReadonlyMap<string, Uint8Array>): unknown =>
  renderTemplate({ template: { data: { key: text } }, variables, seed }, INLINE_UNITS);

/** Texts that matter to the syntax of templates. */
export const TEMPLATE_TEXTS: readonly string[] = [
  [
    "{{ ",
    " }}",
    "{%- ",
    "{% ",
    " %}",
    " -%}",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "..",
    ".",
    ",",
    ":",
    "|",
    '"',
    "'",
    "\\",
    " ",
    "\n",
    "a",
    "1",
    "-",
  ],
  [
    "text",
    "vars",
    "pw",
    "item",
    "item.value",
    'vars["crt"]',
    "vars.key",
    "absent",
    "bin",
    "empty",
    "nil",
    "true",
    "blank",
  ],
  [
    "__proto__",
    "constructor",
    ".__proto__",
    ".constructor",
    ".size",
    ".first",
    ".length",
    "prototype",
  ],
  [" == ", " != ", " and ", " or ", "not ", " contains ", "(1..1000000)", "(vars..text)"],
  [
    " | json",
    " | upper",
    " | urlencode",
    " | quote",
    " | base64",
    " | base64decode",
    " | indent: 32",
    ' | default: "x"',
    " | trim",
  ],
  [
    " | htpasswd: pw",
    ' | dockerconfigjson: "r", pw',
    " | pem_leaf",
    " | pem_key",
    " | pkcs12: key, pw",
    " | jks_truststore: pw",
  ],
  [" | pkcs12_key: pw", " | append: text", " | size", " | getenv", "§"],
  [
    "{{ text }}",
    "{{ text | json }}",
    "{{ crt | pem_leaf }}",
    "{{ p12 | pkcs12_key: pw }}",
    "{{ crt | jks: key, pw }}",
  ],
  [
    "{% for item in vars %}",
    "{% endfor %}",
    "{% if text %}",
    "{% elsif pw %}",
    "{% else %}",
    "{% endif %}",
    "{% unless a %}",
  ],
  [
    "{% endunless %}",
    "{% raw %}",
    "{% endraw %}",
    "{% comment %}",
    "{% endcomment %}",
    "{% include 'x' %}",
    "{% assign a = text %}",
  ],
].flat();

const CHARACTERS = [
  "a",
  " ",
  "\n",
  '"',
  "\\",
  "$",
  "%",
  "=",
  ":",
  "\0",
  "\xc3\xbc",
  "\xc4\xb0",
  "\xef\xac\x83",
  "\xff",
  "\xed\xa0\x80",
];
const LABELS = ["CERTIFICATE", "PRIVATE KEY", ""].flatMap((label) => [
  `-----BEGIN ${label}-----`,
  `-----END ${label}-----`,
]);
const PEM = [
  ...LABELS,
  "-----BEGIN ",
  "-----",
  "\n",
  "A",
  "MII",
  "=",
  chainPem,
  keyPem,
  chainPem.slice(40, 300),
];
/**
 * Headers in BER with definite and indefinite lengths, an identifier, a large number, and whole
 * keystores.
 */
const BER = [
  "\x30\x80",
  "\x30\x82\xff\xff",
  "\x30\x03",
  "\xa0\x80",
  "\x24\x80",
  "\x04\x80",
  "\x04\x01",
  "\x00\x00",
  "\x02\x01\x03",
  "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01",
  "\x02\x04\x7f\xff\xff\xff",
  "\xff",
  ...[keystores.modern, keystores.legacy, keystores.java].map((bytes) => bytes.toString("latin1")),
];

/** Functions with arguments that make them run, and the texts that their input is made of. */
const CALLS: readonly {
  readonly calls: readonly string[];
  readonly fragments: readonly string[];
}[] = [
  {
    calls: [
      "upper",
      "lower",
      "trim",
      "urlencode",
      "json",
      "quote",
      "indent: 32",
      "base64",
      "base64decode",
    ],
    fragments: CHARACTERS,
  },
  {
    calls: ['default: "x"', 'htpasswd: "ann"', 'dockerconfigjson: "r", "ann"'],
    fragments: CHARACTERS,
  },
  { calls: ["pem_leaf", "pem_chain", "pem_certificates", "pem_key"], fragments: PEM },
  {
    calls: ["pkcs12: key, pw", "jks: key, pw", "pkcs12_truststore: pw", "jks_truststore: pw"],
    fragments: PEM,
  },
  { calls: ["pkcs12_key: pw", "pkcs12_certificates: pw"], fragments: BER },
];

const JSON_TEXTS = [
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  '"',
  '"auths":',
  "{}",
  "1",
  "\\u0000",
  " ",
  '{"auths":{"r":{}}}',
];
const SSH_TEXTS = [
  ...PEM,
  "-----BEGIN OPENSSH PRIVATE KEY-----",
  "-----END OPENSSH PRIVATE KEY-----",
  "b3BlbnNzaC1rZXktdjEA",
];

/** Types of Secrets, the key that is fuzzed, and the texts that its value is made of. */
const SHAPES: readonly (readonly [type: string, key: string, fragments: readonly string[]])[] = [
  ["kubernetes.io/tls", "tls.crt", PEM],
  ["kubernetes.io/tls", "tls.key", PEM],
  ["kubernetes.io/dockerconfigjson", ".dockerconfigjson", JSON_TEXTS],
  ["kubernetes.io/dockercfg", ".dockercfg", JSON_TEXTS],
  ["kubernetes.io/basic-auth", "username", CHARACTERS],
  ["kubernetes.io/ssh-auth", "ssh-privatekey", SSH_TEXTS],
];

/** Values of typed Secrets. The operator checks them before it writes them. */
export function shapeTargets(): readonly FuzzTarget[] {
  const pair = [
    ["tls.crt", Buffer.from(chainPem)],
    ["tls.key", Buffer.from(keyPem)],
  ] as const;
  return SHAPES.map(([type, key, fragments]): FuzzTarget => {
    const target = { kind: "Secret", name: "s", type } as const;
    const parse = (input: Buffer) => shapeProblem({ target }, new Map([...pair, [key, input]]));
    return { name: `shape of ${key}`, maxBytes: MAX_VALUE_BYTES, fragments, parse };
  });
}

/**
 * Templates, and the input of each of their functions, as the operator renders them in the thread
 * of its event loop.
 */
export function templateTargets(): readonly FuzzTarget[] {
  const functions = CALLS.flatMap(({ calls, fragments }) =>
    calls.map((call): FuzzTarget => {
      const parse = (input: Buffer) =>
        renderInline(`{{ input | ${call} }}`, new Map([...known, ["input", input]]));
      return { name: `template function ${call}`, maxBytes: MAX_VALUE_BYTES, fragments, parse };
    }),
  );
  const template: FuzzTarget = {
    name: "template",
    maxBytes: MAX_TEMPLATE_BYTES,
    fragments: TEMPLATE_TEXTS,
    parse: (input) => renderInline(input.toString("utf8"), known),
  };
  return [template, ...functions];
}
