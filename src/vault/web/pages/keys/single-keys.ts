const NAME = "vaultsync-single-keys";
const OFF = "off";

/** Setting of the browser that keys without Ctrl act on the pages. Users of speech input turn them off (WCAG 2.1.4). */
export const singleKeys = {
  on: (): boolean => localStorage.getItem(NAME) !== OFF,
  set(on: boolean): void {
    if (on) localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, OFF);
  },
};
