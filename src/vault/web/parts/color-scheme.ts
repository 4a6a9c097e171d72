const NAME = "vaultsync-colors";

export const colorSchemes = ["system", "light", "dark"] as const;
export type ColorScheme = (typeof colorSchemes)[number];

function show(): void {
  document.documentElement.dataset["colors"] = colorScheme.get();
}

/** Setting of the browser for the colors of all pages. */
export const colorScheme = {
  get: (): ColorScheme =>
    colorSchemes.find((scheme) => scheme === localStorage.getItem(NAME)) ?? "system",
  set(scheme: ColorScheme): void {
    if (scheme === "system") localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, scheme);
    show();
  },
};

/** Shows the chosen colors, also when they are chosen in another tab. */
export function followColorScheme(): void {
  show();
  addEventListener("storage", show);
}
