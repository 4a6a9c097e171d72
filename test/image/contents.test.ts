import { spawn } from "node:child_process";
import { beforeAll, expect, inject, test } from "vitest";
import { buildImage, inspectImage } from "../../scripts/image/build.ts";
import { silentProgress } from "../lab/control-plane/progress.ts";
import { docker } from "../lab/docker/docker.ts";
import { text } from "node:stream/consumers";
import { z } from "zod";

const { tag, base } = inject("image");

/** Returns the paths of all files of the image. */
async function listFiles(): Promise<string[]> {
  const container = await docker(["create", tag]);
  try {
    const exported = spawn("docker", ["export", container], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const listed = spawn("tar", ["--list"], { stdio: ["pipe", "pipe", "inherit"] });
    exported.stdout.pipe(listed.stdin);
    return (await text(listed.stdout))
      .split("\n")
      .filter((path) => path !== "" && !path.endsWith("/"));
  } finally {
    await docker(["rm", "--force", "--volumes", container]);
  }
}

let files: string[];
beforeAll(async () => {
  files = await listFiles();
  const { bytes } = await inspectImage(tag);
  process.stdout.write(`size: ${(bytes / 1e6).toFixed(1)} MB, ${files.length} files\n`);
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

test("the image runs the operator as a numeric user", async () => {
  const Config = z.object({
    User: z.string(),
    Entrypoint: z.array(z.string()),
    Cmd: z.array(z.string()),
  });
  const config = Config.parse(
    JSON.parse(await docker(["image", "inspect", "--format", "{{json .Config}}", tag])),
  );
  expect(config).toEqual({
    User: "65532:65532",
    Entrypoint: ["/usr/local/bin/node", "/app/dist/main.js"],
    Cmd: ["operator"],
  });
});

test("a second build of the same sources has the same layers", { timeout: 1_800_000 }, async () => {
  const again = `${tag}-again`;
  const second = await buildImage({ tag: again, base, fresh: true }, silentProgress);
  expect(second.layers).toEqual((await inspectImage(tag)).layers);
  await docker(["image", "rm", again]);
});
