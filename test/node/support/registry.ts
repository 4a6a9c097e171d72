import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { writeOciArchive } from "../../lab/images/oci-archive.ts";
import type { NodeCluster } from "../../lab/node/node-cluster.ts";
import { sandboxImage } from "../../lab/node/supervisor/node-files.ts";

const run = promisify(execFile);
const user = "puller";
const Digests = z.array(z.object({ digest: z.string() })).min(1);
const Index = z.object({ manifests: Digests });
const Manifest = z.object({ layers: Digests });
const manifestType = "application/vnd.oci.image.manifest.v1+json";

async function extract(file: string, directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  await run("tar", ["--extract", "--file", file, "--directory", directory]);
  return directory;
}

const blobPath = (layout: string, digest = ""): string =>
  join(layout, "blobs", digest.replace(":", "/"));

/** Returns the digest of the only manifest of an OCI image layout. */
async function manifestDigest(layout: string): Promise<string> {
  const index = Index.parse(JSON.parse(await readFile(join(layout, "index.json"), "utf8")));
  return index.manifests[0]?.digest ?? "";
}

/**
 * Writes a program that waits as an image, and returns the directory of its layout. It has no equal
 * on the node: the kubelet lets only pods with the login use what it has pulled with one.
 */
async function writeImage(cluster: NodeCluster, directory: string): Promise<string> {
  const archive = join(directory, "image.tar");
  await cluster.exportImage(sandboxImage, archive);
  const sandbox = await extract(archive, join(directory, "sandbox"));
  const manifest = await readFile(blobPath(sandbox, await manifestDigest(sandbox)), "utf8");
  const [layer] = Manifest.parse(JSON.parse(manifest)).layers;
  const root = await extract(blobPath(sandbox, layer?.digest), join(directory, "root"));
  await writeOciArchive(archive, {
    name: "docker.io/library/pulled:local",
    layers: [{ directory: root, owner: 0 }],
    config: { Entrypoint: ["/bin/pause"], Env: ["PULLED=yes"] },
  });
  return extract(archive, join(directory, "layout"));
}

/** A registry on this machine that serves one image, under any name, to one user. */
export class Registry implements AsyncDisposable {
  /** Address for the node, such as `10.213.0.1:5000`. */
  host = "";
  readonly user = user;
  /** The password that the registry accepts. */
  password = "";
  readonly #layout: string;
  readonly #resources: AsyncDisposableStack;

  private constructor(layout: string, resources: AsyncDisposableStack) {
    this.#layout = layout;
    this.#resources = resources;
  }

  static async start(cluster: NodeCluster): Promise<Registry> {
    await using resources = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "vaultsync-registry-"));
    resources.defer(() => rm(directory, { recursive: true, force: true }));
    const layout = await writeImage(cluster, directory);
    const registry = new Registry(layout, resources.move());
    await registry.#listen(cluster.layout.host);
    await cluster.addRegistry(registry.host);
    return registry;
  }

  async #listen(address: string): Promise<void> {
    const server = createServer((request, response) => void this.#respond(request, response));
    server.listen(0, address);
    await once(server, "listening");
    this.#resources.defer(() => {
      server.close();
      server.closeAllConnections();
    });
    this.host = `${address}:${z.object({ port: z.int() }).parse(server.address()).port}`;
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const login = Buffer.from(`${user}:${this.password}`).toString("base64");
    const [, kind, reference = ""] = /\/(manifests|blobs)\/([^/]+)$/u.exec(request.url ?? "") ?? [];
    if (request.headers.authorization !== `Basic ${login}`)
      response.writeHead(401, { "www-authenticate": 'Basic realm="registry"' }).end();
    else if (kind === undefined) response.end();
    else {
      const isDigest = reference.startsWith("sha256:");
      const digest = isDigest ? reference : await manifestDigest(this.#layout);
      const bytes = await readFile(blobPath(this.#layout, digest));
      response.writeHead(200, {
        "content-type": kind === "manifests" ? manifestType : "application/octet-stream",
        "docker-content-digest": digest,
        "content-length": bytes.length,
      });
      response.end(request.method === "HEAD" ? undefined : bytes);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}
