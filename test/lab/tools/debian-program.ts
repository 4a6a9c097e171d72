import { execFile } from "node:child_process";
import { cp, glob, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { silentProgress } from "../control-plane/progress.ts";
import { install, missingFiles, userCacheDirectory } from "./install.ts";

const run = promisify(execFile);
const FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"];

/** Returns the path of an installed program, or `undefined`. */
export async function installedProgram(name: string): Promise<string | undefined> {
  for (const folder of FOLDERS)
    if ((await missingFiles(folder, [name])).length === 0) return join(folder, name);
  return undefined;
}

/**
 * Returns the path of the program of a Debian package with its name: an installed one, or the one
 * of the package of this Debian release, downloaded once into the user's cache without installing
 * it. `undefined` on a machine without both.
 */
export async function debianProgram(name: string): Promise<string | undefined> {
  const installed = await installedProgram(name);
  if (installed !== undefined) return installed;
  const cache = join(userCacheDirectory(), "tools", `debian-${name}`);
  try {
    await install({ cache, names: [name], progress: silentProgress }, async (directory) => {
      const files = join(directory, "files");
      await mkdir(files);
      await run("apt-get", ["download", name], { cwd: files });
      for await (const file of glob("*.deb", { cwd: files }))
        await run("dpkg", ["-x", join(files, file), files]);
      for await (const file of glob(`usr/{sbin,bin}/${name}`, { cwd: files }))
        await cp(join(files, file), join(directory, name));
    });
  } catch {
    return undefined;
  }
  return join(cache, name);
}
