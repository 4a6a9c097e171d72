import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { beforeEach, expect, test } from "vitest";
import { TestDirectory } from "../test-directory.ts";
import { writeOciArchive, type ImageContent } from "./oci-archive.ts";

const directory = new TestDirectory();

async function fill(name: string): Promise<string> {
  const root = directory.join(name);
  await mkdir(`${root}/app`, { recursive: true });
  await mkdir(`${root}/tmp`);
  await writeFile(`${root}/app/main.js`, "run()");
  await symlink("main.js", `${root}/app/link.js`);
  await chmod(`${root}/app/main.js`, 0o755);
  await chmod(`${root}/tmp`, 0o1777);
  await mkdir(`${root}-volumes/data`, { recursive: true });
  return root;
}

function content(root: string): ImageContent {
  return {
    name: "docker.io/library/example:1",
    layers: [
      { directory: root, owner: 0 },
      { directory: `${root}-volumes`, owner: 65_532 },
    ],
    config: { User: "65532:65532", Entrypoint: ["/app/main.js"] },
  };
}

const tar = (...args: string[]): string => execFileSync("tar", args, { encoding: "utf8" });

interface Descriptor {
  readonly digest: string;
  readonly size: number;
}

/** Reads a blob of an unpacked archive, after a check of its size and digest. */
async function blob(layout: string, { digest, size }: Descriptor): Promise<Buffer> {
  const bytes = await readFile(`${layout}/blobs/${digest.replace(":", "/")}`);
  expect(`sha256:${createHash("sha256").update(bytes).digest("hex")}`).toBe(digest);
  expect(bytes.length).toBe(size);
  return bytes;
}

let layout: string;
beforeEach(async () => {
  layout = directory.join("layout");
  await mkdir(layout);
});

test("an archive lists its name, its configuration and layers with their owners and modes", async () => {
  const root = await fill("root");
  const archive = directory.join("image.tar");
  const written = await writeOciArchive(archive, content(root));
  tar("-xf", archive, "-C", layout);
  const index = JSON.parse(await readFile(`${layout}/index.json`, "utf8"));
  const [named] = index.manifests;
  expect(named.annotations["io.containerd.image.name"]).toBe("docker.io/library/example:1");
  expect(named.digest).toBe(written.digest);
  const manifest = JSON.parse((await blob(layout, named)).toString());
  const config = JSON.parse((await blob(layout, manifest.config)).toString());
  expect(config.config).toEqual(content(root).config);
  expect(config.rootfs.diff_ids).toEqual(written.layers);
  expect(manifest.layers.map(({ digest }: Descriptor) => digest)).toEqual(written.layers);
  const listed = await Promise.all(
    manifest.layers.map(async (layer: Descriptor) => {
      await blob(layout, layer);
      const path = `${layout}/blobs/${layer.digest.replace(":", "/")}`;
      return tar("--utc", "--numeric-owner", "-tvf", path).replaceAll(/ +/gu, " ");
    }),
  );
  expect(listed).toMatchInlineSnapshot(`
    [
      "drwxr-xr-x 0/0 0 1970-01-01 00:00 app/
    lrwxrwxrwx 0/0 0 1970-01-01 00:00 app/link.js -> main.js
    -rwxr-xr-x 0/0 5 1970-01-01 00:00 app/main.js
    drwxrwxrwt 0/0 0 1970-01-01 00:00 tmp/
    ",
      "drwxr-xr-x 65532/65532 0 1970-01-01 00:00 data/
    ",
    ]
  `);
});

test("equal files give an equal digest whenever and wherever they were written", async () => {
  const first = await writeOciArchive(directory.join("1.tar"), content(await fill("one")));
  const again = await fill("two");
  await utimes(`${again}/app/main.js`, 1_000_000, 1_000_000);
  const second = await writeOciArchive(directory.join("2.tar"), content(again));
  expect(second).toEqual(first);
  expect(await readFile(directory.join("2.tar"))).toEqual(await readFile(directory.join("1.tar")));
  await writeFile(`${again}/app/main.js`, "stop()");
  const other = await writeOciArchive(directory.join("3.tar"), content(again));
  expect(other.digest).not.toBe(first.digest);
});
