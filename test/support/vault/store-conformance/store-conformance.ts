import { describe } from "vitest";
import { fileConformance } from "./files.ts";
import type { OpenStore } from "./fixture.ts";
import { accountConformance, passingConformance } from "./users.ts";
import { secretConformance } from "./secrets.ts";
import { sharingConformance } from "./sharing.ts";
import { transactionConformance } from "./transactions.ts";

/** What every store does alike: each method of each table, and what transactions promise. Source: store.ts; issue 4, point 4. */
export function storeConformance(name: string, open: OpenStore): void {
  describe(`a store in ${name}`, () => {
    describe("people", () => {
      accountConformance(open);
    });
    describe("what passes", () => {
      passingConformance(open);
    });
    describe("secrets", () => {
      secretConformance(open);
    });
    describe("sharing", () => {
      sharingConformance(open);
    });
    describe("files", () => {
      fileConformance(open);
    });
    describe("transactions", () => {
      transactionConformance(open);
    });
  });
}
