import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { anchorsIn, pagesNamedIn, pathsNamedIn, relativeLinksIn } from "../lab/docs/markdown.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" })
  .split("\0")
  .filter((path) => path !== "" && existsSync(join(root, path)));
const pages = tracked.filter((path) => path.endsWith(".md"));
const sources = tracked.filter((path) =>
  /^(src|test|scripts)\/.*\.(ts|tsx|js|py|css)$/u.test(path),
);

const read = (path: string): string => readFileSync(join(root, path), "utf8");

/**
 * Says what is wrong with a link of the file `from`, or `undefined`. Both paths are relative to the
 * repository's root.
 */
function brokenLink(from: string, path: string, anchor: string | undefined): string | undefined {
  const target = path === "" ? from : path;
  const at = join(root, target);
  if (!existsSync(at)) return `${from}: there is no ${target}`;
  if (
    anchor === undefined ||
    anchor === "" ||
    !target.endsWith(".md") ||
    statSync(at).isDirectory()
  )
    return undefined;
  return anchorsIn(read(target)).has(anchor)
    ? undefined
    : `${from}: ${target} has no heading #${anchor}`;
}

function brokenLinksIn(page: string, markdown: string): string[] {
  return relativeLinksIn(markdown).flatMap((link) => {
    const [path = "", anchor] = link.split("#");
    return (
      brokenLink(page, path === "" ? "" : join(dirname(page), decodeURIComponent(path)), anchor) ??
      []
    );
  });
}

function brokenNamesIn(source: string, text: string): string[] {
  return pagesNamedIn(text).flatMap((name) => {
    const [path = "", anchor] = name.split("#");
    return brokenLink(source, path, anchor) ?? [];
  });
}

describe("Markdown links", () => {
  test("every relative link leads to a file and a heading that exist", () => {
    expect(pages.flatMap((page) => brokenLinksIn(page, read(page)))).toEqual([]);
  });

  test("every page that a source file names exists and has the heading", () => {
    expect(sources.flatMap((source) => brokenNamesIn(source, read(source)))).toEqual([]);
  });

  test("every path of the repository that a page names in code exists", () => {
    // The changelog also names what was removed.
    const current = pages.filter((page) => page !== "CHANGELOG.md");
    const named = current.flatMap((page) =>
      pathsNamedIn(read(page)).flatMap((path) => brokenLink(page, path, undefined) ?? []),
    );
    expect(named).toEqual([]);
  });

  test("every test that docs/design/faults.md names exists", () => {
    const named = [...read("docs/design/faults.md").matchAll(/`([\w./-]+\.test)`/gu)];
    expect(named.length).toBeGreaterThan(100);
    const missing = named
      .map(([, name = ""]) => `/${name}.ts`)
      .filter((end) => !tracked.some((path) => path.endsWith(end)));
    expect(missing).toEqual([]);
  });

  test("the README and the design pages contain links, so that an empty result means something", () => {
    expect(relativeLinksIn(read("README.md")).length).toBeGreaterThan(0);
    expect(sources.flatMap((source) => pagesNamedIn(read(source))).length).toBeGreaterThan(0);
  });
});

describe("a broken link is found", () => {
  // Split, because the test must not name pages that do not exist.
  const missing = ["docs", "missing.md"].join("/");
  const heading = ["docs/design/engine.md", "no-such-heading"].join("#");

  test.each([
    ["a file that does not exist", `[x](${missing})`, `README.md: there is no ${missing}`],
    [
      "a heading that does not exist",
      `[x](${heading})`,
      "README.md: docs/design/engine.md has no heading #no-such-heading",
    ],
    [
      "a heading of the same page",
      "[x](#no-such-heading)",
      "README.md: README.md has no heading #no-such-heading",
    ],
    ["a reference definition", `[x]: ${missing}`, `README.md: there is no ${missing}`],
    ["an image", "![x](docs/images/missing.png)", "README.md: there is no docs/images/missing.png"],
  ])("in Markdown: %s", (_, markdown, message) => {
    expect(brokenLinksIn("README.md", markdown)).toEqual([message]);
  });

  test("in a comment of a source file", () => {
    expect(brokenNamesIn("src/main.ts", `/** See ${missing}. */`)).toEqual([
      `src/main.ts: there is no ${missing}`,
    ]);
    expect(brokenNamesIn("src/main.ts", `// ${heading}.`)).toEqual([
      "src/main.ts: docs/design/engine.md has no heading #no-such-heading",
    ]);
  });

  test("in a path in code, one of several in braces too", () => {
    expect(pathsNamedIn("`src/a.ts`, `src/{b,c/d}.ts`, `src/lib`, `npm run src/x`")).toEqual([
      "src/a.ts",
      "src/b.ts",
      "src/c/d.ts",
      "src/lib",
    ]);
  });

  test.each([
    `\`\`\`\n[x](${missing})\n\`\`\``,
    `\`[x](${missing})\``,
    "[x](https://example.com/#y)",
  ])("not in code or for a URL: %j", (markdown) => {
    expect(brokenLinksIn("README.md", markdown)).toEqual([]);
  });
});

test("anchors are made as on GitHub", () => {
  const page =
    "# A `code`, and more!\n## Twice\n## Twice\n```\n# no heading\n```\n### I1\n## [Link](x.md) text\n";
  expect([...anchorsIn(page)]).toEqual(["a-code-and-more", "twice", "twice-1", "i1", "link-text"]);
});
