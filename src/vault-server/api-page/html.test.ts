import { expect, test } from "vitest";
import { html } from "./html.ts";

test("what is put in is text, unless it is HTML already", () => {
  const hostile = `<script>alert("1" & '2')</script>`;
  const inner = html`<p title="${hostile}">${hostile}</p>`;
  const escaped = "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;";
  expect(inner.text).toBe(`<p title="${escaped}">${escaped}</p>`);
  expect(html`<div>${inner}${[inner, inner]}${undefined}${7}</div>`.text).toBe(`<div>${inner.text.repeat(3)}7</div>`);
});
