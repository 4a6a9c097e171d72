import { render } from "preact";

const root = document.querySelector("#app");
if (root) render(<p>Vaultsync</p>, root);
