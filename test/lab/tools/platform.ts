import { arch, homedir, platform } from "node:os";
import { join } from "node:path";

/** Returns the platform in the notation of Go and the published archives, e.g. `linux-amd64`. */
export function goPlatform(): { os: string; arch: string } {
  const machine = arch();
  return { os: platform(), arch: machine === "x64" ? "amd64" : machine };
}

/** Returns the directory of downloaded and built programs, in `$XDG_CACHE_HOME` or `~/.cache`. */
export function userCacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  return join(
    environment["XDG_CACHE_HOME"] || join(environment["HOME"] || homedir(), ".cache"),
    "vaultsync",
  );
}
