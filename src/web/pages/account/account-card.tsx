import type { ComponentChildren, VNode } from "preact";
import { PageHeading } from "../../parts/page-heading.tsx";

/** The frame of the pages around logging in. */
export function AccountCard({ title, children }: { readonly title: string; readonly children: ComponentChildren }): VNode {
  return (
    <div class="account-card card">
      <PageHeading title={title} />
      {children}
    </div>
  );
}
