/** News about the session that the tabs of a browser share. */
export type SessionNews = "logged-in" | "logged-out";

const channel = new BroadcastChannel("vaultsync-session");

/** Notifies the other tabs. */
export function announce(news: SessionNews): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has only this origin
  channel.postMessage(news);
}

/** Calls `notify` for the news of other tabs. Returns a function that ends it. */
export function followOtherTabs(notify: (news: SessionNews) => void): () => void {
  const listen = ({ data }: MessageEvent<unknown>): void => {
    if (data === "logged-in" || data === "logged-out") notify(data);
  };
  channel.addEventListener("message", listen);
  return () => channel.removeEventListener("message", listen);
}
