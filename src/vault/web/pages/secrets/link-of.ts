import { hrefOf } from "../../routing/route.ts";

/** Returns the address of a secret's page, to send to others. It grants nothing. */
export function linkOf(owner: string, name: string): string {
  return `${location.origin}${location.pathname}${hrefOf({ page: "secret", owner, name })}`;
}
