import { describe, expect, test } from "vitest";
import { checkTemplate } from "./check-template.ts";

const names = new Set(["user", "tls.crt"]);
const messages = (text: string, known: ReadonlySet<string> | undefined = names) =>
  checkTemplate({ data: { key: text } }, known).map(({ message }) => message);

describe("checkTemplate", () => {
  test("accepts a template that uses known names", () => {
    expect(
      messages(
        '{{ user }}{{ vars["tls.crt"] }}{% for item in vars %}{{ item.name }}{{ vars[item.name] }}{% endfor %}',
      ),
    ).toEqual([]);
  });

  test("reports each unknown name once", () => {
    expect(messages("{{ a }}{{ a }}{% if b %}{{ vars.c | default: d }}{% endif %}")).toEqual(
      ["a", "b", "c", "d"].map(
        (name) => `spec.target.template.data[key]: the variable ${name} does not exist`,
      ),
    );
  });

  test("shows how a name with a dot is written", () => {
    expect(messages("{{ tls.crt }}")).toEqual([
      'spec.target.template.data[key]: the variable tls.crt does not exist: write vars["tls.crt"]',
    ]);
  });

  test("reports no unknown name if only the vault knows the names", () => {
    expect(checkTemplate({ data: { key: "{{ a }}" } }, undefined)).toEqual([]);
  });

  test("reports what cannot be parsed, for each key", () => {
    expect(
      checkTemplate(
        { data: { a: "{{ user", b: "\n{{ user | nothing }}", c: "{{ user }}" } },
        undefined,
      ),
    ).toEqual([
      {
        key: "a",
        message: 'spec.target.template.data[a], line 1, column 1: output "{{ user" not closed',
      },
      {
        key: "b",
        message: "spec.target.template.data[b], line 2, column 1: undefined filter: nothing",
      },
    ]);
  });
});
