import { z } from "zod";
import { isObject } from "../../lib/is-object.ts";
import { customResourceDefinitions } from "../api/crd.ts";
import type { KubeApi } from "../kube/client/kube-api.ts";
import { isKubeError } from "../kube/kube-error.ts";
import { CUSTOM_RESOURCE_DEFINITIONS } from "../kube/resource.ts";
import { type Check, checksOf, someOf } from "./check.ts";

const definition = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    versions: z.array(
      z.object({ name: z.string(), schema: z.object({ openAPIV3Schema: z.unknown() }) }),
    ),
  }),
});
type Definition = z.output<typeof definition>;

const { ok, failed, skipped } = checksOf("cluster");
const CHECK = "CRD fields";

/** Returns the paths of all fields of a schema, for example `spec.data[].secretKey`. */
function fieldsOf(schema: unknown, path = ""): string[] {
  if (!isObject(schema)) return [];
  const { properties, items } = schema;
  const fields = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, field]) => {
    const here = path === "" ? name : `${path}.${name}`;
    return [here, ...fieldsOf(field, here)];
  });
  return [...fields, ...fieldsOf(items, `${path}[]`)];
}

/**
 * Returns the fields of this release that an installed CRD lacks; of a part that it lacks as a
 * whole, only the first.
 */
function missingFields(expected: Definition, installed: Definition): string[] {
  const [wanted] = expected.spec.versions;
  const version = installed.spec.versions.find(({ name }) => name === wanted?.name);
  const known = new Set(fieldsOf(version?.schema.openAPIV3Schema));
  const missing = fieldsOf(wanted?.schema.openAPIV3Schema).filter((field) => !known.has(field));
  return missing.filter(
    (field) =>
      !missing.some((parent) => field.startsWith(`${parent}.`) || field.startsWith(`${parent}[]`)),
  );
}

/** Checks whether the installed CRDs have every field of this release. */
export async function checkCrdFields(api: KubeApi, signal: AbortSignal): Promise<Check> {
  const missing: string[] = [];
  for (const each of customResourceDefinitions().values()) {
    const expected = definition.parse(each);
    const { name } = expected.metadata;
    try {
      const installed = definition.parse(
        await api.get(CUSTOM_RESOURCE_DEFINITIONS, { name }, signal),
      );
      const fields = missingFields(expected, installed);
      if (fields.length > 0) missing.push(`${name} lacks ${someOf(fields)}`);
    } catch (error) {
      if (isKubeError(error, "NotFound")) {
        missing.push(`${name} is not installed`);
        continue;
      }
      if (!isKubeError(error, "Forbidden")) throw error;
      return skipped(CHECK, "no permission to get CustomResourceDefinitions");
    }
  }
  if (missing.length === 0) return ok(CHECK, "the CRDs have every field of this release");
  const message = `the CRDs are older than this program: ${missing.join("; ")}`;
  return failed(CHECK, message, "apply the CRDs of this release: kubectl apply -k crds");
}
