import { describe, expect, test } from "vitest";
import { compareSync } from "bcryptjs";
import { Redacted } from "../../lib/redacted.ts";
import { variablesOf } from "../../../test/lab/template/render.ts";
import { renderAside } from "./render-aside.ts";
import { renderTemplate } from "./render-template.ts";

const seed = new Redacted(Buffer.from("seed"));
const inputOf = (key: string) => ({
  template: { data: { key } },
  variables: variablesOf({ user: "ann", password: "p" }),
  seed,
});

describe("renderAside", () => {
  test("renders a template", async () => {
    expect(await renderAside(inputOf("{{ user }}"), "shop")).toEqual({
      ok: true,
      content: new Map([["key", Buffer.from("ann")]]),
    });
  });

  test("reports a problem of a template", async () => {
    expect(await renderAside(inputOf("{{ absent }}"), "shop")).toMatchObject({
      ok: false,
      exceeded: false,
    });
  });

  test("does what takes long without blocking the event loop, with the same result", async () => {
    const input = inputOf("{{ password | htpasswd: user }}");
    const immediate = Promise.resolve("the event loop");
    const rendering = renderAside(input, "shop");
    expect(await Promise.race([rendering.then(() => "the rendering"), immediate])).toBe(
      "the event loop",
    );
    const result = await rendering;
    const bytes = result.ok ? result.content.get("key")! : Buffer.alloc(0);
    expect(compareSync("p", Buffer.from(bytes).toString().slice("ann:".length))).toBe(true);
    expect(renderTemplate(input, 1e7)).toMatchObject({
      ok: true,
      content: new Map([["key", Buffer.from(bytes)]]),
    });
  });

  test("renders several targets, also after a problem", async () => {
    const slow = "{{ password | htpasswd: user }}";
    const results = await Promise.all(
      [inputOf(slow), inputOf(`${slow}{{ absent }}`), inputOf(slow)].map((input) =>
        renderAside(input, "shop"),
      ),
    );
    expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
    expect(results[0]).toEqual(results[2]);
  });

  test("lets namespaces take turns, whatever the number of targets of each", async () => {
    const slow = inputOf("{{ password | htpasswd: user }}");
    const rendered: string[] = [];
    const renderFor = (namespace: string): Promise<unknown> =>
      renderAside(slow, namespace).then(() => rendered.push(namespace));
    await Promise.all([
      ...Array.from({ length: 5 }, () => renderFor("stranger")),
      renderFor("shop"),
    ]);
    expect(rendered.indexOf("shop")).toBeLessThanOrEqual(2);
  });

  test("bounds the work of a target", async () => {
    expect(
      await renderAside(inputOf(`{{ '"' | ${"json | ".repeat(17)} upper }}`.repeat(50)), "shop"),
    ).toMatchObject({
      ok: false,
      exceeded: true,
    });
  });
});
