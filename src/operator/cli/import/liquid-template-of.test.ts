import { expect, test } from "vitest";
import { checkTemplate } from "../../template/check-template.ts";
import { liquidTemplateOf } from "./liquid-template-of.ts";

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
