import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { text } from "node:stream/consumers";
import { codeOf } from "../../../lib/error-code.ts";

/** The text of a file, or of standard input. */
export interface Input {
  /** Path of the file, or `stdin`. */
  readonly file: string;
  readonly text: string;
}

const EXTENSIONS = new Set([".yaml", ".yml", ".json"]);

/**
 * Returns the manifest files at a path: all files of a directory, without hidden ones, in the order
 * of their names; or what else it is, such as a file or a FIFO.
 */
async function filesAt(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true });
  const visible = entries.filter(({ name }) => !name.startsWith(".") && name !== "node_modules");
  const found: string[] = [];
  for (const entry of visible.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) found.push(...(await filesAt(inside)));
    else if (EXTENSIONS.has(extname(entry.name))) found.push(inside);
  }
  return found;
}

/** Returns the failure to read a path, with what to do. */
function explained(path: string, error: unknown): unknown {
  if (/^https?:/u.test(path))
    return new Error(
      `${path} is a URL: pipe it, for example curl -fsSL ${path} | vaultsync plan -f -`,
    );
  if (codeOf(error) === "ENOENT")
    return new Error(`${path} does not exist: give files, directories, or - for standard input`);
  if (codeOf(error) === "EACCES") return new Error(`${path} cannot be read: permission denied`);
  return error;
}

/**
 * Reads files, FIFOs and directories; `-` is standard input. `/dev/stdin` as well, because a socket
 * cannot be opened by that name.
 * @throws Error that says what to do
 */
export async function readInput(paths: readonly string[]): Promise<Input[]> {
  const inputs: Input[] = [];
  for (const path of paths) {
    if (path === "-" || path === "/dev/stdin") {
      inputs.push({ file: "stdin", text: await text(process.stdin) });
      continue;
    }
    try {
      for (const file of await filesAt(path))
        inputs.push({ file, text: await readFile(file, "utf8") });
    } catch (error) {
      throw explained(path, error);
    }
  }
  return inputs;
}
