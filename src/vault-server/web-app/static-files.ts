import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";
import type { VaultContext } from "../context.ts";
import { pageOf, servePage } from "./page.ts";
import { pageHeaders } from "./page-headers.ts";
import { codeOf } from "../../lib/error-code.ts";

/** Output directory of `npm run build:web`, relative to the sources and to the build alike. */
const builtDirectory = new URL("../../../dist/web/", import.meta.url);
const NOT_BUILT = "The web application is not built: run `npm run build:web`, then restart the server.\n";

async function readIndex(directory: URL): Promise<Buffer | undefined> {
  try {
    return await readFile(new URL("index.html", directory));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Serves the built web application to GET and HEAD: `/`, and `/assets/`, where file names change with their content. Without a
 * build, `/` responds with instructions.
 */
export async function staticFileRoutes(app: FastifyInstance, context: VaultContext, directory = builtDirectory): Promise<void> {
  const index = await readIndex(directory);
  if (!index) {
    app.get("/", async (_request, reply) =>
      reply.status(503).headers(pageHeaders(context.appUrl())).type("text/plain; charset=utf-8").send(NOT_BUILT),
    );
    return;
  }
  // Not by the plugin: its etag is size and modification time, which two builds can share.
  const page = pageOf(".html", index);
  servePage(app, context, "/", () => page);
  await app.register(fastifyStatic, {
    root: fileURLToPath(new URL("assets/", directory)),
    prefix: "/assets/",
    // One route per file, so that any other path is an unknown one.
    wildcard: false,
    index: false,
    decorateReply: false,
    maxAge: "365d",
    immutable: true,
    acceptRanges: false,
    lastModified: false,
    setHeaders(reply, path) {
      reply.headers(pageHeaders(context.appUrl()));
      // RFC 9239; the plugin sends the obsolete application/javascript.
      if (path.endsWith(".js")) reply.type("text/javascript; charset=utf-8");
    },
  });
}
