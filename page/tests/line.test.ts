import assert from "node:assert/strict";
import { test } from "node:test";
import type { Row } from "../src/contract";
import { asLine, held, lineBelow, rowsAbove } from "../src/logic/line";

const rowsOf = (probabilities: number[]): Row[] =>
  probabilities.map((probability, i) => ({
    node: `n${i}`,
    rank: i + 1,
    probability,
    low: null,
    high: null,
    holds: false,
    labels: [],
  }));
const rows = rowsOf([0.9, 0.6, 0.2]);

test("a row on the line is above it", () => {
  assert.equal(rowsAbove(rows, 0.6), 2);
  assert.equal(rowsAbove(rows, 0.61), 1);
  assert.equal(rowsAbove(rows, 0.95), 0);
  assert.equal(rowsAbove(rows, 0), 3);
});

test("a line for any number of rows has that many above it", () => {
  for (const count of [0, 1, 2, 3]) assert.equal(rowsAbove(rows, lineBelow(rows, count)), count);
});

test("a line lies between rows however close they are", () => {
  const close = rowsOf([0.12346, 0.12345, 0.12344, 0.12343]);
  for (const count of [0, 1, 2, 3, 4]) assert.equal(rowsAbove(close, asLine(lineBelow(close, count))), count);
  assert.deepEqual([asLine(-1), asLine(2)], [0, 1]);
});

test("how many hold it is said no more exactly than it is known", () => {
  assert.deepEqual(held(rows, 0, 3, 0.5), { kind: "exactly", count: 2 });
  assert.deepEqual(held(rows, 0, 100, 0.1), { kind: "more than", count: 3 });
  assert.deepEqual(held(rowsOf([0.3, 0.2]), 50, 100, 0.5), { kind: "at most", count: 50 });
  assert.deepEqual(held(rows, 0, 3, 0.1), { kind: "exactly", count: 3 });
});
