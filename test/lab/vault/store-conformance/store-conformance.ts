import { describe } from "vitest";
import { fileConformance } from "./files.ts";
import type { OpenStore } from "./fixture.ts";
import { accountConformance, expiryConformance } from "./users.ts";
import { rightsConformance } from "./rights.ts";
import { secretConformance } from "./secrets.ts";
import { sharingConformance } from "./sharing.ts";
import { transactionConformance } from "./transactions.ts";

/** Tests that every store passes: each method of each table, and the guarantees of transactions. */
export function storeConformance(name: string, open: OpenStore): void {
  describe(`a store in ${name}`, () => {
    describe("users", () => {
      accountConformance(open);
    });
    describe("records that expire", () => {
      expiryConformance(open);
    });
    describe("secrets", () => {
      secretConformance(open);
    });
    describe("sharing", () => {
      sharingConformance(open);
    });
    describe("rights", () => {
      rightsConformance(open);
    });
    describe("files", () => {
      fileConformance(open);
    });
    describe("transactions", () => {
      transactionConformance(open);
    });
  });
}
