import { unavailable, type Source } from "./source.ts";
export const k3sImage: Source = {
  name: "a k3s container",
  async find() {
    return unavailable("todo");
  },
};
