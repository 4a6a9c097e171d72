import { unavailable, type Source } from "./source.ts";
export const publishedArchive: Source = {
  name: "the published archives",
  async find() {
    return unavailable("todo");
  },
};
