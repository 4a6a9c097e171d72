import { operations } from "../../src/protocol/operations.ts";
import { sessionOperations } from "../../src/protocol/session-operations.ts";

function entries(definitions: Readonly<Record<string, { readonly path: string }>>): string {
  return Object.entries(definitions)
    .map(([name, { path }]) => `  ${name}: "${path}",`)
    .join("\n");
}

/**
 * Returns src/protocol/operation-paths.ts: names and paths of all operations without their schemas
 * and texts.
 */
export function operationPaths(): string {
  return `// Generated from src/protocol/operations/ and session-operations.ts by npm run generate. Do not edit.

/**
 * Path of every operation, relative to the vault's base address. All are POST. Kept apart from the
 * definitions: the operator and the web application load neither schemas nor texts.
 */
export const operationPath = {
${entries(operations)}
} as const;

export type Operation = keyof typeof operationPath;

/** Path of every operation that only the web application has. All are POST. */
export const sessionOperationPath = {
${entries(sessionOperations)}
} as const;

export type SessionOperation = keyof typeof sessionOperationPath;
`;
}
