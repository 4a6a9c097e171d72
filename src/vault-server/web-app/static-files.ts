import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import { codeOf } from "../../lib/error-code.ts";

/** Where `npm run build:web` puts the web application, from sources and from a build alike. */
const builtDirectory = new URL("../../../dist/web/", import.meta.url);

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".md": "text/markdown; charset=utf-8",
  ".webmanifest": "application/manifest+json",
};

/** One file of the web application. */
export interface Page {
  /** Where it is served. */
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Weak: compressed or not, it is the same file. */
  readonly etag: string;
  /** Its name changes with its content, so it may be kept for ever. */
  readonly immutable: boolean;
}

/** Bytes as a page; below `/assets/` names change with the content. */
export function pageOf(path: string, extension: string, bytes: Buffer): Page {
  const etag = `W/"${createHash("sha256").update(bytes).digest("base64url")}"`;
  const contentType = contentTypes[extension] ?? "application/octet-stream";
  return { path, contentType, bytes, etag, immutable: path.startsWith("/assets/") };
}

async function read(directory: URL, name: string, path: string): Promise<Page> {
  return pageOf(path, extname(name), await readFile(new URL(name, directory)));
}

/** The built web application, read once; empty when it is not built. */
export async function loadPages(directory: URL = builtDirectory): Promise<Page[]> {
  try {
    const index = await read(directory, "index.html", "/");
    const assets = await readdir(new URL("assets/", directory));
    return [index, ...(await Promise.all(assets.map((name) => read(directory, `assets/${name}`, `/assets/${name}`))))];
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}
