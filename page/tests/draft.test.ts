import assert from "node:assert/strict";
import { test } from "node:test";
import { markOf, sameDraft, withMark } from "../src/logic/draft";
import { draftOf } from "./draft";

test("a node has one mark at most", () => {
  const marked = withMark(draftOf(["a"], ["b"]), "a", "negative");
  assert.deepEqual(marked.positives, []);
  assert.deepEqual(marked.negatives, ["b", "a"]);
  assert.equal(markOf(marked, "a"), "negative");
});

test("marking again changes nothing", () => {
  const before = draftOf(["a"]);
  assert.equal(withMark(before, "a", "positive"), before);
});

test("unmarking leaves the others", () => {
  assert.deepEqual(withMark(draftOf(["a", "b"]), "a", null).positives, ["b"]);
});

test("the integer 1 and the text 1 are two nodes", () => {
  const marked = withMark(withMark(draftOf(), 1, "positive"), "1", "negative");
  assert.equal(markOf(marked, 1), "positive");
  assert.equal(markOf(marked, "1"), "negative");
});

test("the order of marks says nothing, their side does", () => {
  assert.ok(sameDraft(draftOf(["a", "b"]), draftOf(["b", "a"])));
  assert.ok(!sameDraft(draftOf(["a"], ["b"]), draftOf(["b"], ["a"])));
  assert.ok(!sameDraft(draftOf(["a"]), draftOf(["a"], [], { prior: 0.1 })));
});
