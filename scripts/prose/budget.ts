import type { ConstructionName, Use } from "./constructions.ts";

/** Maximum number of uses, by the part of the repository and the construction; none if absent. */
export type Budget = Readonly<Record<string, Partial<Record<ConstructionName, number>>>>;

/** Returns the part of the repository whose budget a file counts for. */
function partOf(path: string): string {
  const folders = path.split("/").slice(0, -1);
  if (folders.length === 0) return path.endsWith(".md") ? "docs" : "root";
  return folders.slice(0, folders[0] === "docs" ? 2 : 1).join("/");
}

function count(uses: readonly Use[]): Map<string, Map<ConstructionName, number>> {
  const counts = new Map<string, Map<ConstructionName, number>>();
  for (const { path, construction } of uses) {
    const part = partOf(path);
    const ofPart = counts.get(part) ?? new Map<ConstructionName, number>();
    counts.set(part, ofPart.set(construction, (ofPart.get(construction) ?? 0) + 1));
  }
  return counts;
}

/** Returns a line for each part that uses a construction more often than its budget allows. */
export function overBudget(uses: readonly Use[], budget: Budget): string[] {
  return [...count(uses)].flatMap(([part, counts]) =>
    [...counts].flatMap(([construction, used]) => {
      const allowed = budget[part]?.[construction] ?? 0;
      if (used <= allowed) return [];
      const found = uses.filter(
        (use) => use.construction === construction && partOf(use.path) === part,
      );
      const places = allowed === 0 ? found.map(({ path, line }) => `\n  ${path}:${line}`) : [];
      return [
        `${part}: "${construction}" ${used} times, ${allowed} allowed: ${found[0]?.instead}${places.join("")}`,
      ];
    }),
  );
}

/** Returns the budget with each number lowered to the uses that are left. It never rises. */
export function lowered(uses: readonly Use[], budget: Budget): Budget {
  const counts = count(uses);
  return Object.fromEntries(
    Object.entries(budget).map(([part, allowed]) => [
      part,
      Object.fromEntries(
        Object.entries(allowed)
          .map(([construction, limit]) => [
            construction,
            Math.min(limit, counts.get(part)?.get(construction as ConstructionName) ?? 0),
          ])
          .filter(([, limit]) => limit !== 0),
      ),
    ]),
  );
}
