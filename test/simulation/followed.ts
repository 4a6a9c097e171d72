import type { Command } from "./commands.ts";
import { SECRET_NAMES } from "./invariants/spec-items.ts";
import { accountOf, type NAMESPACES, urlOf } from "./world.ts";

/** Returns writes of secrets of a namespace's account. */
export const written = (
  vault: string,
  namespace: (typeof NAMESPACES)[number],
  names: readonly string[] = SECRET_NAMES,
): Command[] =>
  names.map((name) => ({ type: "write-secret", vault, owner: accountOf(namespace), name }));

/**
 * Lets a connection have the name `main` and this vault, and resources that connection and
 * policy.
 */
export function followed(vault: string, put: readonly Command[], policy: object = {}): Command[] {
  return put.map((command) => {
    if (command.type !== "put") return command;
    if (command.kind === "VaultConnection")
      return { ...command, name: "main", spec: { ...command.spec, url: urlOf(vault) } };
    const { target }: { target?: object } = command.spec;
    return {
      ...command,
      spec: {
        ...command.spec,
        connectionRef: { name: "main" },
        target: { ...target, ...policy },
      },
    };
  });
}
