import { CREATOR } from "./cast.ts";
import type { Command } from "./commands.ts";
import { SECRET_NAMES } from "./invariants/spec-items.ts";
import type { CommandMaker } from "./random-command.ts";
import type { Draw } from "./random-features.ts";
import { RESOURCES } from "./random-specs.ts";
import { accountOf, NAMESPACES, VAULTS, urlOf } from "./world.ts";

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

/** A resource is moved to another vault shortly before the deadlines of its sources. */
export function move(draw: Draw, make: CommandMaker): Command[] {
  const [vault] = make.withDeadlines;
  if (vault === undefined) return [make.command()];
  const [namespace, name] = [draw.pick(NAMESPACES), draw.pick(RESOURCES)];
  const owner = accountOf(namespace);
  const next = VAULTS.find((other) => other !== vault) ?? vault;
  const [connection, resource] = [
    make.put("VaultConnection", namespace, "main"),
    make.put("VaultSecret", namespace),
  ];
  if (connection.type !== "put" || resource.type !== "put") return [connection, resource];
  return [
    { type: "end-faults" },
    ...SECRET_NAMES.flatMap((secret): Command[] => [
      { type: "remove-entry", vault: next, owner, name: secret },
      { type: "write-secret", vault, owner, name: secret, minutes: 4 },
    ]),
    ...followed(vault, [connection, { ...resource, name }]),
    ...followed(next, [connection]).map((one): Command =>
      one.type === "put" ? { ...one, name: "other" } : one,
    ),
    { type: "advance", ms: 60_000 + Math.floor(draw.random() * 120_000) },
    { ...resource, name, spec: { ...resource.spec, connectionRef: { name: "other" } } },
    { type: "advance", ms: 420_000 },
  ];
}

/**
 * Secrets reach their deadlines while nothing else happens. Another account may share secrets of
 * the same names.
 */
export function expiry(draw: Draw, make: CommandMaker): Command[] {
  const namespace = draw.pick(NAMESPACES);
  const [vault = "a"] = make.withDeadlines;
  const names = draw.some(SECRET_NAMES);
  const lasting = names.map((name): Command => {
    return {
      type: "write-secret",
      vault,
      owner: accountOf(namespace),
      name,
      ...make.specs.value(),
    };
  });
  if (make.withDeadlines.length === 0) return [make.put()];
  const strangers = names.flatMap((name): Command[] => [
    { type: "write-secret", vault, owner: CREATOR, name, ...make.specs.value() },
    { type: "share", vault, name, to: accountOf(namespace) },
  ]);
  return [
    ...(draw.below(0.5) ? strangers : []),
    ...lasting,
    make.put("VaultSecret", namespace),
    { type: "settle" },
    ...lasting.map((command) => ({ ...command, minutes: 3 }) as Command),
    { type: "advance", ms: 420_000 },
  ];
}
