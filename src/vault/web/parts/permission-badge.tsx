import type { VNode } from "preact";
import type { Permission } from "../../../protocol/responses.ts";

const words: Readonly<Record<Permission, string>> = { R: "Read", W: "Write", RW: "Read and write" };

/** Words for a narrow column. */
export const shortPermissionWords: Readonly<Record<Permission, string>> = {
  ...words,
  RW: "Read/write",
};

export function permissionWords(permission: Permission): string {
  return words[permission];
}

/** Shows the permission for a secret, or that the user owns it. */
export function PermissionBadge({
  permission,
  own,
}: {
  readonly permission: Permission;
  readonly own: boolean;
}): VNode {
  return <span class={own ? "badge own" : "badge"}>{own ? "Owner" : words[permission]}</span>;
}
