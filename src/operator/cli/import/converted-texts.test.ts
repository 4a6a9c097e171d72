import { expect, test } from "vitest";
import { jsonPointerOf, liquidTemplateOf } from "./converted-texts.ts";
import { checkTemplate } from "../../template/check-template.ts";

test.each([
  ["password", "/password"],
  ["users.0.name", "/users/0/name"],
  ["tls\\.crt", "/tls.crt"],
  ["a/b.c~d", "/a~1b/c~0d"],
])("%j is the JSON Pointer %j", (path, pointer) => {
  expect(jsonPointerOf(path)).toBe(pointer);
});

test.each(["users.#.name", "a*", "a|b", 'users.#(name=="x")', "a.@reverse", "{a}"])(
  "%j has none",
  (path) => {
    expect(jsonPointerOf(path)).toBeUndefined();
  },
);

test.each([
  ["postgres://{{ .user }}:{{.password}}@db", "postgres://{{ user }}:{{ password }}@db"],
  ['{{ index . "tls.crt" | b64enc }}', '{{ vars["tls.crt"] | base64 }}'],
  ["{{- .a | toString | toJson -}}", "{{- a | json -}}"],
  ["{{ .vars }}{{ .empty }}", '{{ vars["vars"] }}{{ vars["empty"] }}'],
  ["no expression", "no expression"],
])("%j becomes %j, which can be read", (from, to) => {
  const converted = liquidTemplateOf(from);
  expect(converted).toBe(to);
  expect(
    checkTemplate(
      { data: { key: converted ?? "" } },
      new Set(["user", "password", "tls.crt", "a", "vars", "empty"]),
    ),
  ).toEqual([]);
});

test.each([
  "{{ range $key, $value := . }}{{ end }}",
  '{{ .a | default "x" }}',
  "{{ .a | nindent 4 }}",
  '{{ .a | printf "%s" }}',
  "{{ .a.b }}",
  "{{ .a",
  "{% if a %}",
  '{{ "text" }}',
])("%j is not converted", (template) => {
  expect(liquidTemplateOf(template)).toBeUndefined();
});
