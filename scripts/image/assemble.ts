import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { keptInImage } from "./kept-in-image.ts";
import { volumes } from "./volumes.ts";

const user = 65_532;

/** Copies a file, not its link, to the same path below `root`. */
function copyFile(path: string, root: string): void {
  const target = join(root, path);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(path, target);
}

/**
 * Returns the shared libraries of a program and its loader, as absolute paths. @throws Error when
 * one is missing
 */
function librariesOf(program: string): string[] {
  const lines = execFileSync("ldd", [program], { encoding: "utf8" }).split("\n");
  const missing = lines.filter((line) => line.includes("not found"));
  if (missing.length > 0)
    throw new Error(`${program}: the base image lacks ${missing.join(", ").replaceAll("\t", "")}`);
  return lines.flatMap((line) => /(?:=> )?(\/\S+) \(0x/u.exec(line)?.[1] ?? []);
}

/**
 * Returns the Debian package of a file; before `/usr` was merged, packages named their files
 * without it.
 */
function packageOf(file: string): string {
  for (const path of [file, `/usr${file}`]) {
    try {
      const owner = execFileSync("dpkg", ["--search", path], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
      return owner.split(":")[0] ?? "";
    } catch {
      // Not under this path.
    }
  }
  throw new Error(
    `${file} is in no package of Debian: the base image has to be Debian's, with dpkg`,
  );
}

/**
 * Adds the records by which scanners recognize Debian's packages without its package manager, and
 * their licenses.
 */
function recordPackage(name: string, root: string): void {
  const directory = join(root, "var/lib/dpkg/status.d");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), execFileSync("dpkg", ["--status", name]));
  copyFile(`/usr/share/doc/${name}/copyright`, root);
}

function installNode(root: string): void {
  const libraries = librariesOf(process.execPath);
  for (const file of libraries) copyFile(file, root);
  for (const name of new Set(libraries.map(packageOf))) recordPackage(name, root);
  mkdirSync(join(root, "usr/local/bin"), { recursive: true });
  copyFileSync(process.execPath, join(root, "usr/local/bin/node"));
  mkdirSync(join(root, "usr/share/doc/node"), { recursive: true });
  copyFileSync(
    join(dirname(process.execPath), "../LICENSE"),
    join(root, "usr/share/doc/node/LICENSE"),
  );
  copyFile("/etc/os-release", root);
}

function configure(root: string): void {
  writeFileSync(
    join(root, "etc/passwd"),
    `root:x:0:0::/:/none\nvaultsync:x:${user}:${user}::/:/none\n`,
  );
  writeFileSync(join(root, "etc/group"), `root:x:0:\nvaultsync:x:${user}:\n`);
  writeFileSync(join(root, "etc/nsswitch.conf"), "hosts: files dns\n");
  // Where a memory file system can be mounted.
  mkdirSync(join(root, "tmp"));
}

/**
 * Gives a file or directory, and everything in it, the same mode and time wherever it was built.
 */
function normalize(path: string): void {
  const entry = lstatSync(path);
  if (entry.isDirectory()) for (const name of readdirSync(path)) normalize(join(path, name));
  if (!entry.isSymbolicLink())
    chmodSync(path, entry.isDirectory() || (entry.mode & 0o111) !== 0 ? 0o755 : 0o644);
  lutimesSync(path, 0, 0);
}

/**
 * Writes the root file system of the image to `output/root`, and to `output/volumes` the
 * directories that the image's user owns. Runs in the build stage of the Dockerfile, on Debian.
 * Equal sources give equal files: modes are normalized, and all times are the start of 1970.
 */
function assemble(output: string, application: string): void {
  const root = join(output, "root");
  mkdirSync(root, { recursive: true });
  for (const volume of volumes) mkdirSync(join(output, "volumes", volume), { recursive: true });
  installNode(root);
  configure(root);
  cpSync(application, join(root, "app"), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => keptInImage(path.slice(application.length + 1)),
  });
  if (!existsSync(join(root, "app/dist/web/index.html")))
    throw new Error("the web application is not built");
  normalize(output);
  chmodSync(join(root, "tmp"), 0o1777);
}

const [, , output, application] = process.argv;
if (output === undefined || application === undefined)
  throw new Error("usage: node assemble.ts OUTPUT APPLICATION");
assemble(output, application);
