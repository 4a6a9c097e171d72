import { parse } from "yaml";
import { z } from "zod";

interface Schema {
  readonly type?: string | undefined;
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, Schema>>;
  readonly items?: Schema | undefined;
}
const Schema: z.ZodType<Schema> = z.object({
  type: z.string().optional(),
  required: z.array(z.string()).default([]),
  properties: z
    .record(
      z.string(),
      z.lazy(() => Schema),
    )
    .default({}),
  items: z.lazy(() => Schema).optional(),
});
const Crd = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    versions: z.array(
      z.object({ name: z.string(), schema: z.object({ openAPIV3Schema: Schema }) }),
    ),
  }),
});

interface Field {
  readonly type: string;
  readonly isRequired: boolean;
}

/** Returns every field of a custom resource, by its path. */
function fieldsOf(crd: string): Map<string, Field> {
  const { metadata, spec } = Crd.parse(parse(crd));
  const fields = new Map<string, Field>();
  const visit = ({ properties, required, items }: Schema, path: string): void => {
    for (const [name, property] of Object.entries(properties)) {
      fields.set(`${path}.${name}`, {
        type: property.type ?? "any",
        isRequired: required.includes(name),
      });
      visit(property, `${path}.${name}`);
    }
    if (items !== undefined) visit(items, `${path}[]`);
  };
  for (const { name, schema } of spec.versions)
    visit(schema.openAPIV3Schema, `${metadata.name}/${name}`);
  return fields;
}

/** Returns the path of the object that has a field. */
function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf(".")).replace(/\[\]$/u, "");
}

/**
 * Returns what of a custom resource's change can reject or ignore an object that the earlier
 * release accepted, one line each.
 */
export function incompatibleChanges(before: string, after: string): string[] {
  const [old, current] = [fieldsOf(before), fieldsOf(after)];
  const removed = [...old].flatMap(([path, { type }]) => {
    const now = current.get(path);
    if (now === undefined) return [`${path} was removed`];
    return now.type === type ? [] : [`${path} was of type ${type}, and is of type ${now.type}`];
  });
  const required = [...current].filter(
    ([path, { isRequired }]) => isRequired && old.get(path)?.isRequired !== true,
  );
  // A required field of a new object is no change for the objects that exist.
  const demands = required
    .filter(([path]) => old.has(parentOf(path)))
    .map(([path]) => `${path} is required, and was not`);
  return [...removed, ...demands];
}
