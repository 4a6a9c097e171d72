/** Commands of packages, and folders at the top of a package that no program loads. */
const unusedFolder =
  /(?:^|\/)node_modules\/(?:\.bin|(?:@[^/]+\/)?[^/@]+\/(?:\.github|bench|benchmarks?|docs|examples?|tests?))$/u;

/**
 * Source maps, types, sources, tests, pages of documentation, and programs of another runtime than
 * Node.
 */
const unusedFile = /\.(?:test\.[cm]?js|map|ts|cts|mts|md|markdown|bare)$/u;
const license = /^(?:licen[cs]es?|copying|notice|third[-_]?party)/iu;

/**
 * Reports whether the image needs a file or folder of the application, by its path below it. Every
 * license is needed.
 */
export function keptInImage(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return license.test(name) || !(unusedFolder.test(path) || unusedFile.test(name));
}
