import { z } from "zod";
import { withRule } from "./validation.ts";

/** A domain of 253 characters, a slash, and a name of 63. */
const labelName = z.string().min(1).max(317);
const labelValue = z.string().max(63);

const requirement = withRule(
  z.object({
    key: labelName.describe("Name of a label."),
    operator: z
      .enum(["In", "NotIn", "Exists", "DoesNotExist"])
      .describe(
        "Relation of the label to the values; NotIn and DoesNotExist also select namespaces without the label.",
      ),
    values: z
      .array(labelValue)
      .max(64)
      .optional()
      .describe("Values of the label, for In and NotIn only."),
  }),
  {
    cel: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
    message: "must have values with In and NotIn, and none with Exists and DoesNotExist",
    check: ({ operator, values = [] }) =>
      (operator === "In" || operator === "NotIn") === values.length > 0,
  },
);

const MAX_LABELS = 32;

/**
 * Selects namespaces by their labels. One of the fields is required: a selector whose only field is
 * misspelled, and so removed by the API server, must not select every namespace.
 */
export const namespaceSelector = withRule(
  z.object({
    matchLabels: z
      .record(z.string(), labelValue)
      .refine(
        (labels) => Object.keys(labels).length <= MAX_LABELS,
        `must have at most ${MAX_LABELS} entries`,
      )
      .meta({ maxProperties: MAX_LABELS })
      .optional()
      .describe(
        "Labels that a namespace must have, with these values. An empty object selects every namespace.",
      ),
    matchExpressions: z
      .array(requirement)
      .max(16)
      .optional()
      .describe("Requirements on labels, all of which a namespace must meet."),
  }),
  {
    cel: "has(self.matchLabels) || has(self.matchExpressions)",
    message: "must have matchLabels or matchExpressions; matchLabels: {} selects every namespace",
    check: ({ matchLabels, matchExpressions }) =>
      matchLabels !== undefined || matchExpressions !== undefined,
  },
);

export type NamespaceSelector = z.output<typeof namespaceSelector>;
export type Labels = Readonly<Record<string, string>>;

/** Reports whether a namespace with these labels is selected. */
export function isSelected(
  { matchLabels = {}, matchExpressions = [] }: NamespaceSelector,
  labels: Labels,
): boolean {
  const valueOf = (key: string): string | undefined =>
    Object.hasOwn(labels, key) ? labels[key] : undefined;
  return (
    Object.entries(matchLabels).every(([key, value]) => valueOf(key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = valueOf(key);
      switch (operator) {
        case "In":
          return value !== undefined && values.includes(value);
        case "NotIn":
          return value === undefined || !values.includes(value);
        case "Exists":
          return value !== undefined;
        case "DoesNotExist":
          return value === undefined;
      }
    })
  );
}
