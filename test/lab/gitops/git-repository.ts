import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { LoopbackServer, type SeenRequest } from "../loopback-server.ts";

const run = promisify(execFile);

/** Git without the settings of this machine. */
const env = {
  PATH: process.env["PATH"],
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  ...Object.fromEntries(
    ["AUTHOR", "COMMITTER"].flatMap((role) => [
      [`GIT_${role}_NAME`, "ops"],
      [`GIT_${role}_EMAIL`, "ops@example.com"],
    ]),
  ),
};

/** A Git repository with the branch `main`, served by `git http-backend` on loopback. */
export class GitRepository implements AsyncDisposable {
  readonly #directory: string;
  readonly #server: LoopbackServer;

  private constructor(directory: string, server: LoopbackServer) {
    this.#directory = directory;
    this.#server = server;
  }

  static async create(): Promise<GitRepository> {
    const directory = await mkdtemp(join(tmpdir(), "vaultsync-git-"));
    await run("git", ["init", "--quiet", "--initial-branch=main", directory], { env });
    const server = await LoopbackServer.start(async (request, response) => {
      const { status, headers, body } = await httpBackend(directory, request);
      response.writeHead(status, headers).end(body);
    });
    return new GitRepository(directory, server);
  }

  get url(): string {
    return new URL("/.git", this.#server.url).href;
  }

  /** Commits a tree of these files, by path, and nothing else. Returns the commit's hash. */
  async commit(message: string, files: Readonly<Record<string, string>>): Promise<string> {
    await this.#git("rm", "-r", "--quiet", "--ignore-unmatch", ".");
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(this.#directory, path)), { recursive: true });
      await writeFile(join(this.#directory, path), content);
    }
    await this.#git("add", "--all");
    await this.#git("commit", "--quiet", "--allow-empty", "--message", message);
    return this.#git("rev-parse", "HEAD");
  }

  async #git(...args: readonly string[]): Promise<string> {
    return (await run("git", ["-C", this.#directory, ...args], { env })).stdout.trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** Passes a request to the CGI program of Git, and returns its response. */
async function httpBackend(directory: string, request: SeenRequest) {
  const child = spawn("git", ["http-backend"], {
    env: {
      ...env,
      GIT_PROJECT_ROOT: directory,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: request.method,
      PATH_INFO: request.path,
      QUERY_STRING: request.query.toString(),
      CONTENT_TYPE: request.headers["content-type"],
      CONTENT_LENGTH: `${Buffer.byteLength(request.body)}`,
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.on("error", () => undefined).end(request.body);
  const printed = await buffer(child.stdout);
  const end = printed.indexOf("\r\n\r\n");
  const headers = Object.fromEntries(
    printed
      .toString("latin1", 0, end)
      .split("\r\n")
      .map((line) => line.split(/: (.*)/su).slice(0, 2)),
  );
  const { Status: status = "200", ...others } = headers;
  return { status: Number.parseInt(status, 10), headers: others, body: printed.subarray(end + 4) };
}
