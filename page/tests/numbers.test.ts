import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, neighbours, nouns, percent, probability, signed, wholeNumber } from "../src/logic/numbers";
import { cividis } from "../src/logic/scale";

test("numbers keep their width and never lie about zero", () => {
  assert.equal(probability(0.94123), "0.941");
  assert.equal(probability(0.0001), "<0.001");
  assert.equal(percent(0.018), "1.8 %");
  assert.equal(percent(0.75), "75 %");
  assert.equal(signed(-0.5), "−0.50");
  assert.equal(nouns(1, "node"), "1 node");
  assert.equal(nouns(1200, "node"), "1,200 nodes");
  assert.deepEqual([0, 1, null].map(neighbours), ["0 neighbours", "1 neighbour", "neighbours unknown"]);
});

test("a number of rows is whole and at least one, or nothing", () => {
  assert.deepEqual(["7", " 12 ", "", " "].map(wholeNumber), [7, 12, null, null]);
  for (const text of ["0", "-1", "2.5", "1e3", "0x10", "ten", "9".repeat(20)])
    assert.equal(wholeNumber(text), undefined, text);
});

test("times are told as a person would", () => {
  const now = Date.parse("2026-01-02T12:00:00Z");
  assert.equal(ago("2026-01-02T11:59:50Z", now), "just now");
  assert.equal(ago("2026-01-02T11:00:00Z", now), "1 hour ago");
  assert.equal(ago("not a time", now), "not a time");
});

test("the scale goes from dark to light, and never beyond", () => {
  const lightness = (share: number) =>
    cividis(share).match(/\d+/g)!.map(Number).reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i]!, 0);
  for (let i = 1; i <= 20; i++) assert.ok(lightness(i / 20) > lightness((i - 1) / 20));
  assert.equal(cividis(2), cividis(1));
  assert.equal(cividis(-1), cividis(0));
});
