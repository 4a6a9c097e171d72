import { ATTACKERS, type AttackCase, logInAttackers } from "../attack-case.ts";
import { storeLarge, prepared } from "../patient.ts";
import { holdUnread, missesOfUnread } from "../unread-connections.ts";

const LISTS = 500;
/** Secrets of a list of 6 MB. */
const SECRETS = 100;
/** Two pieces of a list, at 32 KiB in ten seconds, and the time until a list gets its place. */
const CLOSED_WITHIN_MS = 60_000;

/** Lists that take memory while no client reads them. */
export const unreadLists: AttackCase = {
  name: "unread-lists",
  title: "500 unread lists of 6 MB",
  prepare: async (site) => {
    const accounts = await logInAttackers(site);
    await Promise.all(accounts.map((account) => storeLarge(account, SECRETS)));
    const { url } = site;
    return {
      run: async (round) => {
        const hold = (list: number): Promise<void> => {
          const [account, address] = [accounts[list % ATTACKERS]!, site.address(list % 100)];
          return holdUnread(
            { url, account, operation: "list_no_dup", address, closedWithinMs: CLOSED_WITHIN_MS },
            round,
          );
        };
        await Promise.all(Array.from({ length: LISTS }, (_, list) => hold(list)));
      },
    };
  },
  misses: ({ outcomes }) => missesOfUnread(outcomes),
};

const DOWNLOADS = 300;
/** More than the buffers of two sockets. */
const FILE_BYTES = 24 * 1024 * 1024;
/**
 * A chunk of 256 KiB at 32 KiB in ten seconds, after the buffers of the sockets are full:
 * PostgreSQL fills them more slowly.
 */
const DOWNLOAD_CLOSED_WITHIN_MS = 150_000;

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
              closedWithinMs: DOWNLOAD_CLOSED_WITHIN_MS,
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
