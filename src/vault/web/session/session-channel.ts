/** Change of the session that the tabs of a browser share. */
export type SessionChange = "logged-in" | "logged-out";

const channel = new BroadcastChannel("vaultsync-session");

/** Notifies the other tabs. */
export function announce(change: SessionChange): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has only this origin
  channel.postMessage(change);
}

/** Calls `notify` for the changes of other tabs. Returns a function that ends it. */
export function followOtherTabs(notify: (change: SessionChange) => void): () => void {
  const listen = ({ data }: MessageEvent<unknown>): void => {
    if (data === "logged-in" || data === "logged-out") notify(data);
  };
  channel.addEventListener("message", listen);
  return () => channel.removeEventListener("message", listen);
}
