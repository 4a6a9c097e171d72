import type { ComponentChildren, VNode } from "preact";
import { Icon, type IconName } from "./icon.tsx";

/** Placeholder of an empty list, with what to do next. */
export function Empty({
  icon,
  title,
  children,
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}): VNode {
  return (
    <div class="empty">
      <Icon name={icon} />
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
