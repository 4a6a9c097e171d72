import type { ComponentChildren, TargetedMouseEvent, VNode } from "preact";
import { Icon, type IconName } from "./parts/icon.tsx";
import { ToastSlot } from "./parts/toasts.tsx";
import { LogOutButton } from "./pages/account/log-out-button.tsx";
import { hrefOf, type Route } from "./routing/route.ts";
import { useEffect, useState } from "preact/hooks";
import { slowRequests } from "./service/response-deadline.ts";

type Area = "secrets" | "files" | "teams" | "api-token";

const areas: readonly (readonly [Area, string, IconName])[] = [
  ["secrets", "Secrets", "key"],
  ["files", "Files", "file"],
  ["teams", "Teams", "team"],
  ["api-token", "API tokens", "terminal"],
];

function areaOf({ page }: Route): string {
  if (page === "connect") return "api-token";
  return page === "secret" || page === "new-secret" ? "secrets" : page;
}

function Brand(): VNode {
  return (
    <a class="brand" href={hrefOf({ page: "secrets" })}>
      <span class="brand-mark">
        <Icon name="key" />
      </span>
      Vaultsync
    </a>
  );
}

function Areas({ route }: { readonly route: Route }): VNode {
  return (
    <nav class="areas" aria-label="Main">
      {areas.map(([page, label, icon]) => (
        <a
          key={page}
          href={hrefOf({ page })}
          aria-current={areaOf(route) === page ? "page" : undefined}
        >
          <Icon name={icon} />
          {label}
        </a>
      ))}
    </nav>
  );
}

function skipToMain(event: TargetedMouseEvent<HTMLAnchorElement>): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#main")?.focus();
}

/**
 * First tab stop: skips the navigation. A script moves the focus, because a plain link would change
 * the hash and so the page.
 */
function SkipLink(): VNode {
  return (
    <a class="skip-link" href="#main" onClick={skipToMain}>
      Skip to content
    </a>
  );
}

interface LayoutProps {
  readonly route: Route;
  /** Email address of the logged-in user. */
  readonly email?: string;
  readonly logOut?: () => Promise<void>;
  readonly children: ComponentChildren;
}

/** Frame of every page: skip link, header and navigation. */
export function Layout({ route, email, logOut, children }: LayoutProps): VNode {
  return (
    <>
      <SkipLink />
      <header class="top">
        <div class="top-inner">
          <Brand />
          {email !== undefined && <Areas route={route} />}
          <div class="notices">
            <SlowNote />
            <ToastSlot />
          </div>
          {email !== undefined && (
            <div class="account">
              <a
                class="account-link"
                href={hrefOf({ page: "account" })}
                aria-label={`Account ${email}`}
                title={`Account ${email}`}
                aria-current={route.page === "account" ? "page" : undefined}
              >
                <Icon name="user" />
                <span class="account-email">{email}</span>
              </a>
              {logOut && <LogOutButton logOut={logOut} />}
            </div>
          )}
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

/** Reports that the vault takes long to respond, while it does. */
function SlowNote(): VNode {
  const [slow, setSlow] = useState(slowRequests.any);
  useEffect(() => slowRequests.subscribe(() => setSlow(slowRequests.any())), []);
  return (
    <p class="slow-note" role="status">
      {slow && (
        <>
          <span class="spinner" /> This takes longer than usual …
        </>
      )}
    </p>
  );
}
