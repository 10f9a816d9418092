import assert from "node:assert/strict";
import { test } from "node:test";
import { EventReader } from "../src/logic/events";

const stream = 'event: progress\r\ndata: {"done": 1}\r\n\r\n: a comment\r\n\r\nevent: result\r\ndata: {"a":\r\ndata: 2}\r\n\r\n';
const events = [
  { name: "progress", data: '{"done": 1}' },
  { name: "result", data: '{"a":\n2}' },
];

test("events come out the same, wherever the pieces end", () => {
  for (const text of [stream, stream.replaceAll("\r", "")])
    for (let size = 1; size <= text.length; size++) {
      const reader = new EventReader();
      const found = [];
      for (let at = 0; at < text.length; at += size) found.push(...reader.read(text.slice(at, at + size)));
      assert.deepEqual(found, events, `in pieces of ${size}`);
    }
});

test("an event that has not ended is not told", () => {
  assert.deepEqual(new EventReader().read("event: result\ndata: {}\n"), []);
});
