import { compareSync } from "bcryptjs";
import { describe, expect, test } from "vitest";
import { rendered, renderedBytes } from "../../../../test/lab/template/render.ts";

const htpasswd = '{{ password | htpasswd: "ann" }}';

/** Returns the salt of a rendered line. */
const salt = (template: string, password: string, seed = "seed", key = "key") =>
  renderedBytes(template, { password }, seed, key).toString().split("$").at(-1)!.slice(0, 22);

describe("htpasswd", () => {
  test("yields a line with a bcrypt hash of the password, with cost 10", () => {
    const line = rendered(htpasswd, { password: "päss" });
    expect(line).toMatch(/^ann:\$2y\$10\$[./A-Za-z0-9]{53}$/);
    expect(compareSync("päss", line.slice("ann:".length))).toBe(true);
    expect(compareSync("pass", line.slice("ann:".length))).toBe(false);
  });

  test("yields the same line for the same input, and another salt for any other", () => {
    const first = salt(htpasswd, "a");
    expect(salt(htpasswd, "a")).toBe(first);
    const others = [
      salt(htpasswd, "b"),
      salt('{{ password | htpasswd: "bob" }}', "a"),
      salt(htpasswd, "a", "another installation"),
      salt(htpasswd, "a", "seed", "another key"),
    ];
    expect(new Set([first, ...others]).size).toBe(5);
  });

  test.each([
    ["an empty password", "", "ann"],
    ["a password of 73 bytes", "x".repeat(73), "ann"],
    ["a password with NUL", "a\0b", "ann"],
    ["an empty user", "a", ""],
    ["a user with a colon", "a", "ann:bob"],
    ["a user with a line end", "a", "ann\nbob"],
  ])("rejects %s", (_, password, user) => {
    expect(() => rendered("{{ password | htpasswd: user }}", { password, user })).toThrow(
      "htpasswd: ",
    );
  });
});

describe("dockerconfigjson", () => {
  const template = "{{ password | dockerconfigjson: registry, user }}";

  test("yields the configuration of Docker for a registry", () => {
    const text = rendered(template, {
      password: 'p"ä:',
      registry: "registry.example.com",
      user: "ann",
    });
    expect(JSON.parse(text)).toEqual({
      auths: {
        "registry.example.com": {
          username: "ann",
          password: 'p"ä:',
          auth: Buffer.from('ann:p"ä:').toString("base64"),
        },
      },
    });
  });

  test("takes any text as the name of the registry", () => {
    expect(rendered(template, { password: "p", registry: "__proto__", user: "ann" })).toContain(
      '{"auths":{"__proto__":{',
    );
  });

  test.each([
    ["an empty registry", "", "ann"],
    ["a user with a colon", "registry.example.com", "a:b"],
  ])("rejects %s", (_, registry, user) => {
    expect(() => rendered(template, { password: "p", registry, user })).toThrow(
      "dockerconfigjson: ",
    );
  });
});
