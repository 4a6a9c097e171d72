import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { arch, tmpdir } from "node:os";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Settings with which a container of the image starts, in the notation of OCI. */
export interface ImageConfig {
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly Entrypoint: readonly string[];
  readonly Cmd?: readonly string[];
}

export interface ImageContent {
  /** Full name, such as `docker.io/library/vaultsync:0.1.0`. */
  readonly name: string;
  /** Directories of files, each a layer; their user and group is `owner`. */
  readonly layers: readonly { readonly directory: string; readonly owner: number }[];
  readonly config: ImageConfig;
}

export interface WrittenImage {
  /** Digest of the manifest. */
  readonly digest: string;
  /** Digests of the uncompressed layers. */
  readonly layers: readonly string[];
}

interface Blob {
  readonly digest: string;
  readonly size: number;
}

const start = "1970-01-01T00:00:00Z";
const mediaTypes = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
};

/**
 * Writes an image as an archive of the OCI image layout. `ctr images import` and `skopeo`
 * read it. Equal content gives equal digests: all times are the start of 1970. Requires GNU tar.
 */
export async function writeOciArchive(file: string, content: ImageContent): Promise<WrittenImage> {
  const layout = await mkdtemp(join(tmpdir(), "vaultsync-oci-"));
  try {
    const written = await writeLayout(layout, content);
    await pack(layout, 0, createWriteStream(file));
    return written;
  } finally {
    await rm(layout, { recursive: true, force: true });
  }
}

async function writeLayout(layout: string, content: ImageContent): Promise<WrittenImage> {
  const blobs = join(layout, "blobs/sha256");
  await mkdir(blobs, { recursive: true });
  const layers: Blob[] = [];
  for (const layer of content.layers) layers.push(await writeLayer(blobs, layer));
  const digests = layers.map(({ digest }) => digest);
  const config = await writeJson(blobs, {
    architecture: arch() === "x64" ? "amd64" : arch(),
    os: "linux",
    created: start,
    config: content.config,
    rootfs: { type: "layers", diff_ids: digests },
    history: digests.map(() => ({ created: start })),
  });
  const manifest = await writeJson(blobs, {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: { mediaType: mediaTypes.config, ...config },
    layers: layers.map((layer) => ({ mediaType: mediaTypes.layer, ...layer })),
  });
  const annotations = {
    "io.containerd.image.name": content.name,
    "org.opencontainers.image.ref.name": content.name.slice(content.name.lastIndexOf(":") + 1),
  };
  const index = {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: [{ mediaType: mediaTypes.manifest, ...manifest, annotations }],
  };
  await writeFile(join(layout, "index.json"), JSON.stringify(index));
  await writeFile(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  return { digest: manifest.digest, layers: digests };
}

async function writeLayer(
  blobs: string,
  { directory, owner }: ImageContent["layers"][number],
): Promise<Blob> {
  const temporary = join(blobs, "layer");
  const hash = createHash("sha256");
  const hashing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(undefined, chunk);
    },
  });
  const written = pipeline(hashing, createWriteStream(temporary));
  await Promise.all([pack(directory, owner, hashing), written]);
  const hex = hash.digest("hex");
  const { size } = await stat(temporary);
  await rename(temporary, join(blobs, hex));
  return { digest: `sha256:${hex}`, size };
}

async function writeJson(blobs: string, value: object): Promise<Blob> {
  const text = JSON.stringify(value);
  const hex = createHash("sha256").update(text).digest("hex");
  await writeFile(join(blobs, hex), text);
  return { digest: `sha256:${hex}`, size: Buffer.byteLength(text) };
}

/** Packs what is in a directory, without the directory. @throws Error when tar fails */
async function pack(directory: string, owner: number, to: NodeJS.WritableStream): Promise<void> {
  const names = (await readdir(directory)).toSorted();
  const equal = ["--format=gnu", "--sort=name", "--mtime=@0", "--hard-dereference"];
  const owners = [`--owner=:${owner}`, `--group=:${owner}`, "--numeric-owner"];
  const args = ["--create", `--directory=${directory}`, ...equal, ...owners, "--", ...names];
  const tar = spawn("tar", args, { stdio: ["ignore", "pipe", "inherit"] });
  const [[code]] = await Promise.all([once(tar, "close"), pipeline(tar.stdout, to)]);
  if (code !== 0) throw new Error(`tar cannot pack ${directory}: it exited with ${code}`);
}
