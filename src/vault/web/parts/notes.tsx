import type { VNode } from "preact";
import type { RequestError } from "../service/request-error.ts";
import { Icon } from "./icon.tsx";

/**
 * Shows a failure. The live region exists before the failure, so that screen readers announce it.
 */
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
