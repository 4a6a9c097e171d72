import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { command } from "./command.ts";

const reproducible = [
  "--sort=name",
  "--mtime=@0",
  "--owner=0",
  "--group=0",
  "--numeric-owner",
  "--mode=u=rwX,go=rX",
  "--exclude=.helmignore",
];

/** GNU tar: macOS has another `tar`. */
const program = process.platform === "darwin" ? "gtar" : "tar";

/** Packs names of a folder into a `.tar.gz`. Equal files give equal archives. */
export function pack(folder: string, names: readonly string[], archive: string): void {
  const tar = `${archive}.tar`;
  command(program, ["--create", "--file", tar, ...reproducible, ...names], folder);
  command("sh", ["-c", 'gzip --no-name --best < "$0" > "$1"; rm "$0"', tar, archive], folder);
}

/** Returns the SHA-256 of a file, in hexadecimal digits. */
export const sha256 = (file: string): string =>
  createHash("sha256").update(readFileSync(file)).digest("hex");
