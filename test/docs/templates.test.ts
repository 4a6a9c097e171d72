import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { Budget } from "../../src/operator/template/budget.ts";
import { createEngine } from "../../src/operator/template/engine.ts";
import { vaultSecretSpec } from "../../src/operator/api/vault-secret.ts";
import { chainPem, keyPem, keystores } from "../lab/template/keystores.ts";
import { rendered, renderedBytes } from "../lab/template/render.ts";

const page = readFileSync(new URL("../../docs/resources.md", import.meta.url), "utf8");
const section = page.slice(page.indexOf("\n## Templates\n"));

/** The variables that the section describes. */
const variables = {
  user: "ann",
  password: 'p@ss "1"',
  crt: chainPem,
  key: keyPem,
  p12: keystores.modern,
};

interface Row {
  readonly name: string;
  readonly example: string;
  readonly result: string;
}

const ROW = /^\| `(?<name>\w+)` \| `(?<example>.*)` \| (?<result>.*) \|$/gmu;
const rows = [...section.matchAll(ROW)].map(
  ({ groups }) => ({ ...groups, example: groups!.example!.replaceAll("\\|", "|") }) as Row,
);

test("docs/resources.md has one row for each function of templates", () => {
  const engine = createEngine(new Budget(0), () => Buffer.alloc(0));
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(engine.filters).sort());
});

test.each(rows)(
  "the example of $name in docs/resources.md yields what it says",
  ({ name, example, result }) => {
    expect(example).toContain(name);
    const bytes = renderedBytes(example, variables);
    const expected = result.startsWith("`") ? result.slice(1, -1) : bytes.toString();
    expect(bytes.toString()).toBe(expected);
    expect(bytes.length).toBeGreaterThan(0);
  },
);

test("the resource in the section about templates yields an address and two files", () => {
  const [, yaml = ""] = /```yaml\n(.*?)```/su.exec(section) ?? [];
  const { target } = vaultSecretSpec.parse(parseAllDocuments(yaml)[0]?.toJS().spec);
  const { url = "", htpasswd = "", "settings.env": settings = "" } = target?.template?.data ?? {};
  const values = { user: "ann", password: "p@ss" };
  expect(rendered(url, values)).toBe("postgres://ann:p%40ss@db/shop");
  expect(rendered(htpasswd, values)).toMatch(/^ann:\$2y\$10\$/u);
  expect(rendered(settings, values)).toBe('PASSWORD="p@ss"\nUSER="ann"\n');
});
