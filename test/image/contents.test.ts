import { beforeAll, expect, inject, test } from "vitest";
import { writeImageArchive } from "../../scripts/image/archive.ts";
import { silentProgress } from "../lab/control-plane/progress.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { imageFiles } from "./support/image-files.ts";

const { unpacked, layers } = inject("image");
const directory = new TestDirectory();

let files: string[];
beforeAll(async () => {
  files = [...(await imageFiles(unpacked.root)).keys()];
  process.stdout.write(`${files.length} files\n`);
});

test("Node is the only program of the image", () => {
  expect(files).toContain("app/dist/main.js");
  expect(files).toContain("app/dist/web/index.html");
  expect(files.filter((path) => /^(?:usr\/)?(?:local\/)?s?bin\//u.test(path))).toEqual([
    "usr/local/bin/node",
  ]);
});

test("the image has no tests, sources, source maps or packages for development", () => {
  expect(files.filter((path) => /\.(?:test\.js|ts|map|tsx)$/u.test(path))).toEqual([]);
  expect(
    files.filter((path) =>
      /node_modules\/(?:typescript|vitest|npm|preact|testcontainers)\//u.test(path),
    ),
  ).toEqual([]);
});

test("the image runs the operator as a numeric user", () => {
  expect(unpacked.config).toMatchObject({
    User: "65532:65532",
    Entrypoint: ["/usr/local/bin/node", "/app/dist/main.js"],
    Cmd: ["operator"],
  });
});

test("a second build of the same sources has the same layers", { timeout: 1_800_000 }, async () => {
  const file = directory.join("again.tar");
  const second = await writeImageArchive({ name: "vaultsync:again", file }, silentProgress);
  expect(second.layers).toEqual(layers);
});
