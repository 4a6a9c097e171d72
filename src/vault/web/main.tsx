import { render } from "preact";
import { App } from "./app.tsx";
import { keepScrollPosition } from "./parts/scroll-position.ts";
import "./styles/index.css";

keepScrollPosition();
const root = document.querySelector("#app");
if (root) render(<App />, root);
