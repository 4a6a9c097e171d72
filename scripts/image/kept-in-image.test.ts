import { expect, test } from "vitest";
import { keptInImage } from "./kept-in-image.ts";

test.each([
  "package.json",
  "dist/main.js",
  "dist/web/assets/licenses.md",
  "node_modules/zod/package.json",
  "node_modules/zod/LICENSE.md",
  "node_modules/@fastify/static/lib/test/loaded.js",
  "node_modules/a/node_modules/b/index.cjs",
  "node_modules/test/index.js",
])("the image keeps %s", (path) => {
  expect(keptInImage(path)).toBe(true);
});

test.each([
  "dist/main.js.map",
  "node_modules/zod/index.d.cts",
  "node_modules/zod/src/index.ts",
  "node_modules/zod/README.md",
  "node_modules/zod/test",
  "node_modules/pg-protocol/dist/inbound-parser.test.js",
  "node_modules/@fastify/static/test",
  "node_modules/a/node_modules/@b/c/examples",
  "node_modules/bare-fs/prebuilds/linux-x64/bare-fs.bare",
  "node_modules/.bin",
])("the image omits %s", (path) => {
  expect(keptInImage(path)).toBe(false);
});
