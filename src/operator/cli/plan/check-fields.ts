import { z } from "zod";
import { isObject } from "../../../lib/is-object.ts";
import { API_GROUP, API_VERSION, type Kind } from "../../api/kinds.ts";
import { nearNames } from "../../lib/near-names.ts";
import { fieldProblem, type Manifest, type Problem } from "../manifests/manifest.ts";

/** Checks of any object: version, metadata and unknown fields. */

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u;
const NAMESPACE = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u;
const MAX_NAME = 253;
const MAX_NAMESPACE = 63;

/** Returns why the API server rejects the name or the namespace of an object. */
export function nameProblems(manifest: Manifest, { namespaced }: Kind): Problem[] {
  const { name, namespace } = manifest;
  const problem = (field: string, message: string): Problem =>
    fieldProblem(manifest, ["metadata", field], message);
  const problems: Problem[] = [];
  if (!NAME.test(name))
    problems.push(problem("name", "must consist of lower-case letters, digits, '-' and '.'"));
  if (name.length > MAX_NAME)
    problems.push(problem("name", `must have at most ${MAX_NAME} characters`));
  if (namespaced && !NAMESPACE.test(namespace))
    problems.push(problem("namespace", "must consist of lower-case letters, digits and '-'"));
  if (namespaced && namespace.length > MAX_NAMESPACE)
    problems.push(problem("namespace", `must have at most ${MAX_NAMESPACE} characters`));
  return problems;
}

/** Returns the labels and annotations whose values YAML reads as something else than text. */
const textProblems = (manifest: Manifest): Problem[] =>
  ["labels", "annotations"].flatMap((field) => {
    const values = manifest.metadata[field];
    return Object.entries(isObject(values) ? values : {})
      .filter(([, value]) => typeof value !== "string")
      .map(([name]) =>
        fieldProblem(manifest, ["metadata", field, name], "must be a string: write it in quotes"),
      );
  });

/** Returns what is wrong with the version, the metadata and the other fields of a manifest. */
export function checkFields(manifest: Manifest, kind: Kind): Problem[] {
  const { apiVersion, fields } = manifest;
  const served = `${API_GROUP}/${API_VERSION}`;
  return [
    ...(apiVersion === served
      ? []
      : [fieldProblem(manifest, ["apiVersion"], `${apiVersion} does not exist: write ${served}`)]),
    ...nameProblems(manifest, kind),
    ...textProblems(manifest),
    ...fields
      .filter((field) => field !== "status")
      .map((field) => unknownField(manifest, [field], ["spec"])),
  ];
}

function unknownField(
  manifest: Manifest,
  path: readonly PropertyKey[],
  known: readonly string[],
): Problem {
  const name = String(path.at(-1));
  const near = nearNames([name], known).get(name);
  const hint = near === undefined ? "" : ` (did you mean ${near}?)`;
  return fieldProblem(manifest, path, `unknown field${hint}`);
}

/** The parts of a JSON Schema that name the fields of an object. */
type Schema = z.core.JSONSchema.BaseSchema;

/**
 * Returns the fields of a spec that its schema does not know, and that the API server would drop or
 * reject. A spec that is invalid otherwise may have them as well.
 */
export function unknownFields(manifest: Manifest, schema: z.ZodType): Problem[] {
  const visit = (given: unknown, known: unknown, path: readonly PropertyKey[]): Problem[] => {
    if (!isObject(known)) return [];
    const { items, properties, additionalProperties }: Schema = known;
    if (Array.isArray(given))
      return given.flatMap((one, index) => visit(one, items, [...path, index]));
    if (!isObject(given) || (properties === undefined && !isObject(additionalProperties)))
      return [];
    return Object.entries(given).flatMap(([name, value]) => {
      const field = properties?.[name] ?? additionalProperties;
      return isObject(field)
        ? visit(value, field, [...path, name])
        : [unknownField(manifest, [...path, name], Object.keys(properties ?? {}))];
    });
  };
  return visit(manifest.spec, z.toJSONSchema(schema, { io: "input" }), ["spec"]);
}
