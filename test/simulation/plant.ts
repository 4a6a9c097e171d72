import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Change, plantedBugs } from "./planted-bugs.ts";

const OPERATOR = join(import.meta.dirname, "../../src/operator");

/**
 * Makes statuses show one item instead of 64: no simulated resource has more. That is no bug. The
 * status of a VaultPush shows all of its keys.
 */
const shortStatuses: readonly Change[] = [
  { file: "api/status.ts", from: "MAX_STATUS_ITEMS = 64;", to: "MAX_STATUS_ITEMS = 1;" },
  {
    file: "api/vault-push.ts",
    from: 'import { conditions, MAX_STATUS_ITEMS, timestamp } from "./status.ts";',
    to: 'import { conditions, timestamp } from "./status.ts";\nconst MAX_STATUS_ITEMS = 64;',
  },
];

/** Matches a text wherever the formatter breaks its lines and adds commas at their ends. */
function anyLayoutOf(text: string): RegExp {
  const tokens = text.match(/\w+|[^\w\s]/gu) ?? [];
  const patterns = tokens.map((token) => {
    const escaped = token.replace(/[\\^$.*+?()[\]{}|]/u, String.raw`\$&`);
    return /[)\]}]/u.test(token) ? String.raw`,?\s*${escaped}` : escaped;
  });
  return new RegExp(patterns.join(String.raw`\s*`), "gu");
}

function changesOf(bug: string): readonly Change[] {
  const planted = plantedBugs[bug];
  if (!planted)
    throw new Error(`unknown bug: ${bug}; expected one of ${Object.keys(plantedBugs).join("; ")}`);
  return planted.changes;
}

/** Returns the changed source files with a bug, by path. @throws when the source has changed */
export const sourcesWith = (bug: string): ReadonlyMap<string, string> => sourcesOf(changesOf(bug));

function sourcesOf(changes: readonly Change[]): ReadonlyMap<string, string> {
  const changed = new Map<string, string>();
  for (const { file, from, to } of changes) {
    const path = join(OPERATOR, file);
    const source = changed.get(path) ?? readFileSync(path, "utf8");
    const pattern = anyLayoutOf(from);
    if (source.match(pattern)?.length !== 1)
      throw new Error(`${file}: expected this text once: ${from}`);
    changed.set(
      path,
      source.replace(pattern, () => to),
    );
  }
  return changed;
}

/** Changes of the operator in one thread of the simulation. */
export interface Planted {
  /** A bug by its name. */
  readonly bug?: string | undefined;
  /** Statuses show one item and the number of the omitted ones. */
  readonly hasShortStatuses?: boolean;
}

/**
 * Changes the modules of the operator that this process imports from now on. @throws when a source
 * has changed
 */
export function plant({ bug, hasShortStatuses = false }: Planted): void {
  const bugs = bug === undefined ? [] : changesOf(bug);
  const changed = sourcesOf([...bugs, ...(hasShortStatuses ? shortStatuses : [])]);
  registerHooks({
    load: (url, context, next) => {
      const source = url.startsWith("file:") ? changed.get(fileURLToPath(url)) : undefined;
      return source === undefined
        ? next(url, context)
        : { format: "module-typescript", source, shortCircuit: true };
    },
  });
}
