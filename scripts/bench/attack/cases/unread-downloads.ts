import { ATTACKERS, type AttackCase, logInAttackers } from "../attack-case.ts";
import { prepared } from "../patient.ts";
import { holdUnread, missesOfUnread } from "../unread-connections.ts";

const DOWNLOADS = 300;
/** More than the buffers of two sockets. */
const FILE_BYTES = 24 * 1024 * 1024;
/**
 * A chunk of 256 KiB at 32 KiB in ten seconds, after the buffers of the sockets are full:
 * PostgreSQL fills them more slowly.
 */
const CLOSED_WITHIN_MS = 150_000;

/** Downloads that no client reads. */
export const unreadDownloads: AttackCase = {
  name: "unread-downloads",
  title: "300 unread downloads of 24 MiB",
  prepare: async (site) => {
    const accounts = await logInAttackers(site);
    const files = [{ filename: "large", bytes: Buffer.alloc(FILE_BYTES) }];
    for (const account of accounts) await prepared(() => account.upload(files));
    const { url } = site;
    const body = { filename: "large" };
    return {
      run: async (round) => {
        const hold = (download: number): Promise<void> => {
          const [account, address] = [
            accounts[download % ATTACKERS]!,
            site.address(download % 100),
          ];
          return holdUnread(
            {
              url,
              account,
              operation: "download_file",
              body,
              address,
              closedWithinMs: CLOSED_WITHIN_MS,
            },
            round,
          );
        };
        await Promise.all(Array.from({ length: DOWNLOADS }, (_, download) => hold(download)));
      },
    };
  },
  misses: ({ outcomes }) => missesOfUnread(outcomes),
};
