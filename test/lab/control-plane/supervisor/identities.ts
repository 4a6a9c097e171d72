import { generateKeyPairSync, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nodeName } from "../../node/layout.ts";
import type { Handle } from "../handle.ts";

export type User = Handle["users"][number];

export interface Identities {
  readonly users: readonly User[];
  readonly tokenFile: string;
  readonly serviceAccountKey: string;
  readonly serviceAccountPublicKey: string;
}

export const administrator = "admin";
export const controllerManager = "system:kube-controller-manager";

export const kubelet = `system:node:${nodeName}`;
export const scheduler = "system:kube-scheduler";
export const proxy = "system:kube-proxy";

/** The users of a node's programs. */
export const nodeUsers: readonly Omit<User, "token">[] = [
  { name: kubelet, groups: ["system:nodes"] },
  { name: scheduler, groups: [] },
  { name: proxy, groups: [] },
];

/**
 * Writes the static token file and the key pair that signs ServiceAccount tokens. Each control
 * plane has its own. `components` are users with groups.
 */
export async function createIdentities(
  directory: string,
  plainUsers: readonly string[],
  components: readonly Omit<User, "token">[] = [],
): Promise<Identities> {
  const users: User[] = [
    { name: administrator, groups: ["system:masters"], token: newToken() },
    { name: controllerManager, groups: [], token: newToken() },
    ...components.map((component) => ({ ...component, token: newToken() })),
    ...plainUsers.map((name) => ({ name, groups: [], token: newToken() })),
  ];
  const tokenFile = join(directory, "tokens.csv");
  const lines = users.map(
    (user) => `${user.token},${user.name},${user.name},"${user.groups.join(",")}"\n`,
  );
  await writeFile(tokenFile, lines.join(""), { mode: 0o600 });

  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const serviceAccountKey = join(directory, "service-account.key");
  const serviceAccountPublicKey = join(directory, "service-account.pub");
  await writeFile(serviceAccountKey, privateKey.export({ type: "sec1", format: "pem" }), {
    mode: 0o600,
  });
  await writeFile(serviceAccountPublicKey, publicKey.export({ type: "spki", format: "pem" }));
  return { users, tokenFile, serviceAccountKey, serviceAccountPublicKey };
}

function newToken(): string {
  return randomBytes(32).toString("hex");
}

/**
 * Returns the token of a user. The token file is read once, so users are named at the start.
 * @throws Error for an unknown user
 */
export function tokenOf(users: readonly User[], name: string): string {
  const user = users.find((candidate) => candidate.name === name);
  if (user === undefined)
    throw new Error(
      `unknown user "${name}", expected one of ${users.map((each) => each.name).join(", ")}`,
    );
  return user.token;
}
