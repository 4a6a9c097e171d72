import { readdir, readFile } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import type { FastifyInstance } from "fastify";
import type { VaultContext } from "../context.ts";
import { pageOf, servePage, pageHeaders } from "./page.ts";
import { codeOf } from "../../../lib/errors.ts";

/** Output directory of `npm run build -- web`, for the sources and for the build alike. */
const builtDirectory = new URL(
  "dist/web/",
  pathToFileURL(findPackageJSON(import.meta.url) ?? "package.json"),
);
/** Ending of the file next to an asset that the build has compressed. */
const BROTLI = ".br";
const NOT_BUILT =
  "The web application is not built: run `npm run build -- web`, then restart the server.\n";

async function readIndex(directory: URL): Promise<Buffer | undefined> {
  try {
    return await readFile(new URL("index.html", directory));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Serves the built web application to GET and HEAD: `/`, and each file of `assets`. Without a
 * build, `/` responds with instructions.
 */
export async function staticFileRoutes(
  app: FastifyInstance,
  context: VaultContext,
  directory = builtDirectory,
): Promise<void> {
  const index = await readIndex(directory);
  if (!index) {
    app.get("/", async (_request, reply) =>
      reply
        .status(503)
        .headers(pageHeaders(context.appUrl()))
        .type("text/plain; charset=utf-8")
        .send(NOT_BUILT),
    );
    return;
  }
  // From memory and compressed once: compressing for each request of any stranger would take the
  // threads of passwords and the audit log.
  const page = pageOf(".html", index);
  servePage(app, context, "/", () => page);
  // Where password managers send users: https://w3c.github.io/webappsec-change-password-url/
  app.get("/.well-known/change-password", async (_request, reply) =>
    reply.headers(pageHeaders(context.appUrl())).redirect("/#/account"),
  );
  const assets = new URL("assets/", directory);
  const names = await readdir(assets);
  const read = (name: string): Promise<Buffer> =>
    readFile(new URL(encodeURIComponent(name), assets));
  for (const name of names.filter((each) => !each.endsWith(BROTLI))) {
    const brotli = names.includes(name + BROTLI) ? await read(name + BROTLI) : undefined;
    const asset = pageOf(extname(name), await read(name), brotli);
    // Names change with the content.
    servePage(app, context, `/assets/${name}`, () => asset, "public, max-age=31536000, immutable");
  }
}
