import type { VNode, ComponentChildren } from "preact";
import type { RequestError } from "../service/request-error.ts";
import { Icon, type IconName } from "./icon.tsx";

/** Shows a failure. The live region exists before the failure: screen readers then announce it. */
export function FailureNote({ failure }: { readonly failure: RequestError | undefined }): VNode {
  return (
    <div role="alert">
      {failure && (
        <p class="note bad">
          <Icon name="warning" />
          <span>{failure.message}</span>
        </p>
      )}
    </div>
  );
}

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
