import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { productionPackages, type ProductionPackage } from "./production-packages.ts";

const Project = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  dependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
});

export interface Component {
  readonly "bom-ref": string;
  readonly type: "application" | "library" | "platform";
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly description?: string;
}

/** A bill of materials in the format CycloneDX 1.5. */
export interface Bom {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.5";
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const licensed = (id: string) => [{ license: { id } }];

function packageComponent({ name, version, license, integrity }: ProductionPackage): Component {
  const content = Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex");
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const hashes = [{ alg: "SHA-512", content }];
  return {
    "bom-ref": `${name}@${version}`,
    type: "library",
    name,
    version,
    purl,
    licenses: licensed(license),
    hashes,
  };
}

/**
 * Returns Node in the version that the image contains. The Dockerfile and `npm ci` name that
 * version.
 * @throws Error if they differ
 */
function nodeComponent(
  root: string,
  optionalDependencies: Readonly<Record<string, string>>,
): Component {
  const version =
    /^ARG NODE_IMAGE=node:([\d.]+)/mu.exec(readFileSync(join(root, "Dockerfile"), "utf8"))?.[1] ??
    "";
  const other = Object.entries(optionalDependencies).find(([, installed]) => installed !== version);
  if (other !== undefined)
    throw new Error(`the Dockerfile has Node ${version}, package.json has ${other.join(" ")}`);
  const purl = `pkg:generic/node@${version}`;
  return {
    "bom-ref": `node@${version}`,
    type: "platform",
    name: "node",
    version,
    purl,
    licenses: licensed("MIT"),
  };
}

/**
 * Returns the bill of materials of the image: the packages of npm with their checksums, what the
 * web application contains, and Node. The libraries of Debian depend on the base, and the image
 * records them. It is made of the lock file, because `npm sbom --omit=dev` of npm 11.19 omits
 * packages that are installed. Equal sources give an equal result: it has no time, and its serial
 * number is made of its content.
 */
export function sbom(root: string): Bom {
  const project = Project.parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));
  const packages = productionPackages(root);
  const { name, version, description } = project;
  const ref = `${name}@${version}`;
  const purl = `pkg:npm/${ref}`;
  const component: Component = {
    "bom-ref": ref,
    type: "application",
    name,
    version,
    description,
    purl,
    licenses: licensed(project.license),
  };
  const node = nodeComponent(root, project.optionalDependencies);
  const dependsOn = [
    ...Object.entries(project.dependencies).map((entry) => entry.join("@")),
    node["bom-ref"],
  ];
  const content = {
    metadata: { component },
    components: [...packages.map(packageComponent), node],
    dependencies: [
      { ref, dependsOn },
      ...packages.map((each) => ({
        ref: `${each.name}@${each.version}`,
        dependsOn: each.dependencies,
      })),
    ],
  };
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(content))}`;
  return { bomFormat: "CycloneDX", specVersion: "1.5", serialNumber, version: 1, ...content };
}

/** Returns a UUID of version 8, whose bits are a hash. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}
