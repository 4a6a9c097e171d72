import type { ComponentChildren, VNode } from "preact";
import { hrefOf } from "../../routing/route.ts";

/** Links below an account page: those given as list items, then the one to the login page. */
export function AccountLinks({ children }: { readonly children?: ComponentChildren }): VNode {
  return (
    <ul class="account-links">
      {children}
      <li>
        <a href={hrefOf({ page: "login" })}>Back to log in</a>
      </li>
    </ul>
  );
}
