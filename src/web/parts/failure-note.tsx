import type { VNode } from "preact";
import type { RequestError } from "../service/request-error.ts";
import { Icon } from "./icon.tsx";

/** Reads a failure out when there is one; the live region is there before. */
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
