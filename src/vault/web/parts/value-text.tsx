import type { VNode } from "preact";
import { visibleParts } from "../text/visible-text.ts";
import type { Timestamp as WireTimestamp, Permission } from "../../../protocol/responses.ts";
import { browserClock } from "../service/browser-clock.ts";
import { exactTime, relativeTime, shortRelativeTime } from "../text/formats.ts";

/**
 * A name of a user's choice: kept apart from the direction of the text around it, with runs of
 * spaces and invisible characters shown.
 */
export function NameText({ name }: { readonly name: string }): VNode {
  return (
    <bdi class="name-text">
      {visibleParts(name).map(({ text, hidden }, at) =>
        hidden ? (
          <span key={at} class="hidden-character">
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </bdi>
  );
}

interface TimestampProps {
  readonly at: WireTimestamp;
  /** Abbreviates the unit. */
  readonly short?: boolean;
}

/** Shows a timestamp relative to now, with the exact time as its title. */
export function Timestamp({ at, short = false }: TimestampProps): VNode {
  return (
    <time dateTime={String(at)} title={exactTime(at)}>
      {(short ? shortRelativeTime : relativeTime)(at, browserClock.now())}
    </time>
  );
}

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
