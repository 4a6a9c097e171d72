import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TestDirectory } from "../../test/lab/test-directory.ts";
import { packagesNotAllowed, thirdPartyNotices } from "./notices.ts";
import { sbomDifferences, bundled, productionPackages } from "./production-packages.ts";
import { sbom } from "./sbom.ts";
import { sourceFiles, readSource } from "../../test/lab/import-graph.ts";

const root = join(import.meta.dirname, "../..");
const directory = new TestDirectory();

/** Writes a project with packages at these paths of its lock file. */
async function project(packages: Readonly<Record<string, object>>): Promise<string> {
  const lock = {
    packages: { "": { version: "1.0.0", dependencies: { a: "1.0.0" } }, ...packages },
  };
  await writeFile(directory.join("package-lock.json"), JSON.stringify(lock));
  for (const path of Object.keys(packages)) await mkdir(directory.join(path), { recursive: true });
  return directory.path;
}
const mit = { version: "1.0.0", license: "MIT" };

test("the bill of materials has every production package, and no other", async () => {
  const path = await project({
    "node_modules/a": { ...mit, dependencies: { b: "*" } },
    "node_modules/a/node_modules/b": { ...mit, version: "2.0.0" },
    "node_modules/b": mit,
    "node_modules/tool": { ...mit, dev: true },
    "node_modules/maybe": { ...mit, optional: true },
  });
  const packages = productionPackages(path);
  expect(packages.map(({ name, version }) => `${name}@${version}`)).toEqual([
    "a@1.0.0",
    "b@1.0.0",
    "b@2.0.0",
  ]);
  expect(packages[0]?.dependencies).toEqual(["b@2.0.0"]);
});

test("the bill of materials is equal for equal sources, and every dependency is a component", () => {
  const bom = sbom(root);
  expect(sbom(root)).toEqual(bom);
  const refs = new Set([
    bom.metadata.component["bom-ref"],
    ...bom.components.map((component) => component["bom-ref"]),
  ]);
  expect(refs.size).toBe(bom.components.length + 1);
  const named = bom.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
  expect(named.filter((ref) => !refs.has(ref))).toEqual([]);
  expect(named).toContain("pg@8.23.1");
  expect(bom.serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/u,
  );
});

test("a package that is installed and not listed is a difference, and so is the reverse", async () => {
  for (const name of ["undici", "@scope/other"]) {
    await mkdir(directory.join("node_modules", name), { recursive: true });
    const version =
      name === "undici" ? sbom(root).components.find((one) => one.name === name)?.version : "1.0.0";
    await writeFile(
      directory.join("node_modules", name, "package.json"),
      JSON.stringify({ name, version }),
    );
  }
  const differences = sbomDifferences(sbom(root), directory.path);
  expect(differences).toContain(
    "@scope/other@1.0.0 is installed, and not in the bill of materials",
  );
  expect(differences).toContain("pg@8.23.1 is in the bill of materials, and not installed");
  expect(differences.join()).not.toMatch(/undici@|preact@/u);
});

test("a license that is not on the list is an error, and a package without a license as well", async () => {
  const path = await project({ "node_modules/a": { ...mit, license: "AGPL-3.0" } });
  expect(() => thirdPartyNotices(path)).toThrow('a@1.0.0 has the license "AGPL-3.0", which');
  expect(
    packagesNotAllowed(
      productionPackages(await project({ "node_modules/a": { version: "1.0.0" } })),
    ),
  ).toHaveLength(1);
  expect(() => thirdPartyNotices(directory.path)).toThrow("license");
});

test("notices have license and notice files, or the section of a README", async () => {
  const path = await project({ "node_modules/a": mit, "node_modules/b": mit });
  expect(() => thirdPartyNotices(path)).toThrow("a@1.0.0 (MIT) has no license file");
  await writeFile(join(path, "node_modules/a/LICENSE"), "The text of a  \r\n");
  await writeFile(join(path, "node_modules/a/NOTICE"), "The notice of a");
  await writeFile(join(path, "node_modules/b/README.md"), "# b\n\n## License\n\nThe text of b\n");
  expect(thirdPartyNotices(path)).toContain("a 1.0.0 (MIT)\n\nThe text of a\n\nThe notice of a\n");
  expect(thirdPartyNotices(path)).toContain("b 1.0.0 (MIT)\n\nThe text of b\n");
});

test("every package that the web application loads is in the notices", async () => {
  const sources = sourceFiles("src/vault/web").filter((path) => !path.includes(".test."));
  const loaded = sources.flatMap((path) => [
    ...(readSource(path) ?? "").matchAll(/from "((?:@[^/"]+\/)?[^./"][^/"]*)/gu),
  ]);
  expect(new Set(loaded.map(([, name]) => name))).toEqual(new Set(bundled));
  expect(thirdPartyNotices(root)).toContain("\npreact ");
});
