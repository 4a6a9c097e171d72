import type { ComponentChildren, VNode } from "preact";
import { PageHeading } from "../../parts/page-heading.tsx";
import { hrefOf } from "../../routing/route.ts";

/** Frame of the login, sign-up and password pages. */
export function AccountCard({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}): VNode {
  return (
    <div class="account-card card">
      <PageHeading title={title} />
      {children}
    </div>
  );
}

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
