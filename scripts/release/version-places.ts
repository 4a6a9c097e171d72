import { readFileSync, writeFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";

/**
 * Patterns of the version of a release, by glob from the repository root, each with the version as
 * its first group.
 */
const places: readonly (readonly [glob: string, pattern: RegExp])[] = [
  ["package.json", /^ {2}"version": "([^"]+)"/dgmu],
  ["package-lock.json", /^ {2}"version": "([^"]+)"/dgmu],
  ["package-lock.json", /^ {4}"": \{\n {6}"name": "vaultsync",\n {6}"version": "([^"]+)"/dgmu],
  ["deploy/**/kustomization.yaml", /^ +newTag: (\S+)/dgmu],
  ["deploy/chart/Chart.yaml", /^(?:version|appVersion): (\S+)/dgmu],
  ["{README,docs/**/*}.md", /\bvaultsync:(\d+\.\d+\.\d+)/dgu],
  ["deploy/self-hosting/compose.yaml", /\bvaultsync:(\d+\.\d+\.\d+)/dgu],
  ["{README,docs/**/*}.md", /^ +newTag: (\S+)/dgmu],
  ["test/lab/control-plane/deploy.test.ts", /REGISTRY\/vaultsync:(\d+\.\d+\.\d+)/dgu],
];

export interface VersionPlace {
  readonly file: string;
  readonly line: number;
  readonly version: string;
}

interface Match extends VersionPlace {
  readonly start: number;
  readonly end: number;
}

function matchesIn(file: string, text: string): Match[] {
  const patterns = places.filter(([glob]) => matchesGlob(file, glob)).map(([, pattern]) => pattern);
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map((match) => {
      const [start, end] = match.indices?.[1] ?? [0, 0];
      return {
        file,
        line: text.slice(0, start).split("\n").length,
        version: text.slice(start, end),
        start,
        end,
      };
    }),
  );
}

/** Returns every place where these files of the repository name the version of Vaultsync. */
export function versionPlaces(root: string, files: readonly string[]): VersionPlace[] {
  const named = files.filter((file) => places.some(([glob]) => matchesGlob(file, glob)));
  return named.flatMap((file) => matchesIn(file, readFileSync(join(root, file), "utf8")));
}

/** Writes another version to every place, and returns the changed files. */
export function setVersion(root: string, files: readonly string[], version: string): string[] {
  const changed = [...new Set(versionPlaces(root, files).map(({ file }) => file))];
  for (const file of changed) {
    let text = readFileSync(join(root, file), "utf8");
    for (const { start, end } of matchesIn(file, text).toSorted((a, b) => b.start - a.start)) {
      text = text.slice(0, start) + version + text.slice(end);
    }
    writeFileSync(join(root, file), text);
  }
  return changed;
}
