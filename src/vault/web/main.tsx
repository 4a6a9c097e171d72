import { render } from "preact";
import { App } from "./app.tsx";
import { followColorScheme } from "./parts/color-scheme.ts";
import { keepScrollPosition } from "./parts/scroll-position.ts";
import { browserClock } from "./service/browser-clock.ts";
import { loadFormats } from "./text/formats.ts";
import "./styles/index.css";

keepScrollPosition();
const root = document.querySelector("#app");
if (root) render(<App />, root);
followColorScheme();
browserClock.after(0, loadFormats);
