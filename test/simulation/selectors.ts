export type Labels = Readonly<Record<string, string>>;

export interface NamespaceSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** The part of a spec that selects namespaces. */
export interface Selection {
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: NamespaceSelector;
}

/** Reports whether a selector selects a namespace with these labels. */
export function selects(
  { matchLabels = {}, matchExpressions = [] }: NamespaceSelector,
  labels: Labels,
): boolean {
  const hasLabels = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  const meets = ({ key, operator, values = [] }: (typeof matchExpressions)[number]): boolean => {
    const isListed = values.length === 0 ? key in labels : values.includes(labels[key] ?? "");
    return isListed === ["In", "Exists"].includes(operator);
  };
  return hasLabels && matchExpressions.every(meets);
}

/** Reports whether a spec selects a namespace with these labels. */
export const selectsNamespace = (
  { namespaces = [], namespaceSelector }: Selection,
  namespace: string,
  labels: Labels,
): boolean =>
  namespaces.includes(namespace) ||
  (namespaceSelector !== undefined && selects(namespaceSelector, labels));
