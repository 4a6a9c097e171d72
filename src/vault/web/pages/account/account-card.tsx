import type { ComponentChildren, VNode } from "preact";
import { PageHeading } from "../../parts/page-heading.tsx";

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
