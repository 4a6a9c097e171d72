import { describe, expect, test } from "vitest";
import { Redacted } from "../../lib/redacted.ts";
import { rendered, renderedBytes, variablesOf } from "../../../test/lab/template/render.ts";
import { renderTemplate } from "./render-template.ts";

const BINARY = Buffer.from([0xff, 0xfe, 0x00]);
const seed = new Redacted(Buffer.from("seed"));
const variables = {
  user: "ann",
  password: "p@ss",
  "tls.crt": "PEM",
  vars: "a variable",
  logo: BINARY,
};

describe("renderTemplate", () => {
  test.each([
    ["text without expressions", "plain { text } 100 %\n", "plain { text } 100 %\n"],
    ["variables in text", "{{ user }}:{{ password }}@db", "ann:p@ss@db"],
    ["a name with a dot", '{{ vars["tls.crt"] }}', "PEM"],
    ["a name that is that of all variables", "{{ vars.vars }}", "a variable"],
    ["a function after another", "{{ user | upper | json }}", '"ANN"'],
    ["a literal", "{{ 'it' }} {{ 5 }} {{ true }}", "it 5 true"],
    ["a default for a variable that does not exist", '{{ absent | default: "x" }}', "x"],
    ["no default for a variable that exists", '{{ user | default: "x" }}', "ann"],
    ["a condition on a variable that exists", "{% if user %}yes{% else %}no{% endif %}", "yes"],
    [
      "a condition on a variable that does not exist",
      "{% if absent %}yes{% else %}no{% endif %}",
      "no",
    ],
    [
      "a comparison",
      '{% if user == "ann" and password contains "@" and not user != "ann" %}yes{% endif %}',
      "yes",
    ],
    [
      "an alternative",
      '{% if user == "bob" %}a{% elsif user == "ann" or false %}b{% endif %}',
      "b",
    ],
    ["unless", "{% unless absent %}yes{% endunless %}", "yes"],
    ["a comment", "a{% comment %}{{ absent }}{% endcomment %}b", "ab"],
    ["text that looks like an expression", "{% raw %}{{ user }}{% endraw %}", "{{ user }}"],
    ["control of white space", "a\n{%- if user -%}\nb\n{%- endif -%}\nc", "abc"],
  ])("renders %s", (_, template, expected) => {
    expect(rendered(template, variables)).toBe(expected);
  });

  test("renders a loop over all variables in the order of their names", () => {
    const template = "{% for item in vars %}{{ item.name }}={{ item.value | quote }}\n{% endfor %}";
    expect(rendered(template, { B: "1", A: "$x", __proto__x: "3" })).toBe(
      'A="\\$x"\nB="1"\n__proto__x="3"\n',
    );
  });

  test("treats names of prototypes as names of variables", () => {
    const template = '{{ vars["__proto__"] }} {{ vars["constructor"] }}';
    const named = new Map([
      ...variablesOf({ constructor: "c" }),
      ["__proto__", Buffer.from("p")] as const,
    ]);
    expect(
      renderTemplate({ template: { data: { key: template } }, variables: named, seed }, 1e6),
    ).toEqual({
      ok: true,
      content: new Map([["key", Buffer.from("p c")]]),
    });
  });

  test("keeps the bytes of the only expression, also if they are not text", () => {
    expect(renderedBytes("{{ logo }}", variables)).toEqual(BINARY);
  });

  test.each([
    [
      "a missing variable",
      "a\n {{ absent }}",
      "line 2, column 5: the variable absent does not exist",
    ],
    [
      "a missing variable in a path",
      "{{ vars.absent }}",
      "the variable vars.absent does not exist",
    ],
    [
      "a name with a dot",
      "{{ tls.crt }}",
      'the variable tls.crt does not exist: write vars["tls.crt"]',
    ],
    ["a missing argument", "{{ user | default: absent }}", "the variable absent does not exist"],
    ["a property of a variable", "{{ user.size }}", "the variable user.size does not exist"],
    ["a prototype", "{{ user.constructor }}", "the variable user.constructor does not exist"],
    [
      "a prototype of a literal",
      "{{ empty.__proto__.__proto__.constructor }}",
      "empty.__proto__.__proto__.constructor does not exist",
    ],
    [
      "the prototype of an object of the library",
      "{{ empty.__proto__ }}",
      "the variable empty.__proto__ does not exist",
    ],
    [
      "the prototype of another one",
      "{{ nil.__proto__.__proto__ }}",
      "the variable nil.__proto__.__proto__ does not exist",
    ],
    [
      "the prototype of all variables",
      "{{ vars.__proto__ }}",
      "the variable vars.__proto__ does not exist",
    ],
    ["the prototype of text", '{{ "x".__proto__ }}', "does not exist"],
    ["the length of text", '{{ "x".length }}', "does not exist"],
    ["a name from a value", "{{ vars[password] }}", "a name in brackets must be a text"],
    ["a name that is not text", "{{ vars[5] }}", "a name in brackets must be a text"],
    [
      "bytes next to text",
      "{{ logo }}\n",
      "the variable logo is not UTF-8 text: apply base64 to it",
    ],
    ["bytes in a function of text", "{{ logo | upper }}", "the variable logo is not UTF-8 text"],
    [
      "all variables in one expression",
      "{{ vars }}",
      "an expression yields neither text nor bytes",
    ],
    ["a range", "{{ (1..1000000) | json }}", "ranges are not available"],
    [
      "another loop",
      "{% for i in (1..3) %}{% endfor %}",
      "the only loop is {% for item in vars %}",
    ],
    [
      "a loop that hides all variables",
      "{% for vars in vars %}{% endfor %}",
      "the only loop is {% for item in vars %}",
    ],
    ["a loop without an end", "{% for item in vars %}", "{% for %} lacks {% endfor %}"],
    ["a comparison of no text", "{% if vars == 'x' %}{% endif %}", "only texts can be compared"],
    ["an unknown function", "{{ user | getenv }}", "undefined filter: getenv"],
    [
      "a function of the library that is not listed",
      "{{ user | append: 'x' }}",
      "undefined filter: append",
    ],
    ["a tag that reads files", '{% include "/etc/passwd" %}', 'tag "include" not found'],
    ["a tag that assigns", "{% assign x = 1 %}", 'tag "assign" not found'],
    ["an expression without an end", "{{ user", 'output "{{ user" not closed'],
    ["too few arguments", "{{ user | indent }}", "indent: expected 1 arguments, found 0"],
    ["too many arguments", "{{ user | upper: 1 }}", "upper: expected 0 arguments, found 1"],
    [
      "an argument by name",
      "{{ user | indent: width: 4 }}",
      "indent: expected variables and texts as arguments",
    ],
    ["brackets in brackets", `{{ ${"[".repeat(9000)} }}`, "the template is nested too deeply"],
    [
      "a template that is too long",
      "x".repeat(16_385),
      "the template has 16385 characters, expected at most 16384",
    ],
  ])("explains %s", (_, template, message) => {
    expect(() => rendered(template, variables)).toThrow(message);
  });

  test("names the key, the line and the column of a problem", () => {
    expect(() => rendered("\n\n{{ user | nothing }}")).toThrow(
      "spec.target.template.data[key], line 3, column 1: undefined filter: nothing",
    );
  });

  test("names a variable only if the template does", () => {
    const template = "{% for item in vars %}{{ item.value | base64decode }}{% endfor %}";
    const message = "line 1, column 23: base64decode: a variable is not base64";
    expect(() => rendered(template, { member_of_a_value: "?" })).toThrow(message);
  });

  test("renders every key, and none if one has a problem", () => {
    const data = { a: "{{ user }}", b: "{{ absent }}" };
    const input = { variables: variablesOf(variables), seed };
    expect(renderTemplate({ ...input, template: { data } }, 1e6)).toMatchObject({
      ok: false,
      exceeded: false,
    });
    expect(renderTemplate({ ...input, template: { data: { ...data, b: "x" } } }, 1e6)).toEqual({
      ok: true,
      content: new Map([
        ["a", Buffer.from("ann")],
        ["b", Buffer.from("x")],
      ]),
    });
  });

  test.each([
    [
      "loops in loops",
      "{% for a in vars %}{% for b in vars %}{% for c in vars %}{% endfor %}{% endfor %}{% endfor %}",
    ],
    ["a chain of functions that double", `{{ quotes${" | json".repeat(40)} }}`],
    [
      "conditions in a loop",
      `{% for a in vars %}{% if ${"a.name and ".repeat(500)}true %}{% endif %}{% endfor %}`,
    ],
    ["long output", "{{ quotes }}".repeat(100)],
    [
      "empty conditions in a loop",
      `{% for a in vars %}${"{% if a %}{% endif %}".repeat(200)}{% endfor %}`,
    ],
    [
      "comparisons in a loop",
      `{% for a in vars %}{% if ${"true == true or ".repeat(300)}false %}{% endif %}{% endfor %}`,
    ],
  ])("bounds the work of %s", (_, template) => {
    const many = Object.fromEntries(Array.from({ length: 256 }, (__, index) => [`v${index}`, "x"]));
    const input = {
      template: { data: { key: template } },
      variables: variablesOf({ ...many, quotes: '"'.repeat(20_000) }),
      seed,
    };
    expect(renderTemplate(input, 1_000_000)).toMatchObject({
      ok: false,
      exceeded: true,
      message: expect.stringContaining("do more work than one target may take"),
    });
  });

  test("bounds the work of contains, which is quadratic in the worst case", () => {
    const half = "a".repeat(60_000);
    const values = { text: "a".repeat(300_000), short: "a".repeat(500) + "b".repeat(500) };
    const message = "contains: expected a text of at most 1024 characters";
    expect(() =>
      rendered("{% if text contains long %}{% endif %}", { ...values, long: `${half}b${half}` }),
    ).toThrow(message);
    const template = { data: { key: "{% if text contains short %}{% endif %}" } };
    expect(
      renderTemplate({ template, variables: variablesOf(values), seed }, 1_000_000),
    ).toMatchObject({ exceeded: true });
  });

  test("bounds the number of variables", () => {
    const many = new Map(
      Array.from({ length: 10_000 }, (__, index) => [`v${index}`, Buffer.from("x")]),
    );
    const input = { template: { data: { key: "x" } }, variables: many, seed };
    expect(renderTemplate(input, 1_000_000)).toMatchObject({ exceeded: true });
    expect(renderTemplate(input, 10_000_000)).toMatchObject({ ok: true });
  });

  test("limits the size of a value", () => {
    const half = Buffer.alloc(600_000, "\\");
    expect(() => rendered("{{ half | json }}", { half })).toThrow(
      "the result of json is larger than 1048576 bytes",
    );
  });
});
