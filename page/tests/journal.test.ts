import assert from "node:assert/strict";
import { test } from "node:test";
import type { Draft } from "../src/logic/draft";
import { sameDraft } from "../src/logic/draft";
import type { Journal, Step } from "../src/logic/journal";
import { acknowledged, change, newJournal, redo, sending, settled, undo } from "../src/logic/journal";
import { draftOf } from "./draft";

const kinds = (journal: Journal): string[] => journal.queue.map((step) => step.kind);
const [empty, one, two] = [draftOf(), draftOf(["a"]), draftOf(["a", "b"])];

/** What the server would hold after these steps: its own stack, moved along and cut as it does. */
class Server {
  private at = 0;
  constructor(private contents: Draft[]) {}
  take(step: Step): void {
    if (step.kind === "put") this.contents = [...this.contents.slice(0, ++this.at), step.draft];
    else if (step.kind === "undo") this.at -= 1;
    else this.at += 1;
    assert.ok(this.at >= 0 && this.at < this.contents.length, `the server cannot ${step.kind}`);
  }
  get now(): Draft {
    return this.contents[this.at]!;
  }
}

test("undo and redo walk along the changes", () => {
  let journal = change(change(newJournal(empty), one), two);
  journal = undo(journal)!;
  assert.equal(journal.now, one);
  journal = undo(journal)!;
  assert.equal(journal.now, empty);
  assert.equal(undo(journal), null);
  assert.equal(redo(redo(journal)!)!.now, two);
});

test("a change that was undone before it was sent is never sent", () => {
  assert.deepEqual(kinds(undo(change(newJournal(empty), one))!), []);
});

test("a change on its way is undone by an undo", () => {
  const journal = undo(sending(change(newJournal(empty), one)))!;
  assert.deepEqual(kinds(journal), ["put", "undo"]);
});

test("a change that is saved is undone by an undo, and that taken back is nothing", () => {
  const saved = acknowledged(sending(change(newJournal(empty), one)));
  const undone = undo(saved)!;
  assert.deepEqual(kinds(undone), ["undo"]);
  assert.deepEqual(kinds(redo(undone)!), []);
});

test("a new change forgets what was undone", () => {
  const journal = change(undo(change(newJournal(empty), one))!, two);
  assert.deepEqual(journal.future, []);
  assert.equal(redo(journal), null);
});

test("a change that changes nothing is none", () => {
  const journal = newJournal(one);
  assert.equal(change(journal, draftOf(["a"])), journal);
});

test("after a conflict, undo goes back to what the others had", () => {
  const journal = settled(one, two);
  assert.deepEqual(kinds(journal), ["put"]);
  assert.equal(undo(journal)!.now, one);
  assert.deepEqual(kinds(settled(one, one)), []);
});

test("whatever is done in whatever order, the server ends with the same content", () => {
  // All walks of nine moves would be many; a linear congruence draws two thousand of them.
  let seed = 7;
  const draw = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  for (let walk = 0; walk < 2_000; walk++) {
    let journal = newJournal(empty);
    const server = new Server([empty]);
    const answer = () => {
      server.take(journal.queue[0]!);
      assert.ok(sameDraft(server.now, journal.queue[0]!.draft));
      journal = acknowledged(journal);
    };
    for (let move = 0; move < 14; move++) {
      const what = draw(5);
      if (what <= 1) journal = change(journal, draftOf([`n${draw(4)}`], [`m${walk}.${move}`]));
      else if (what === 2) journal = undo(journal) ?? journal;
      else if (what === 3) journal = redo(journal) ?? journal;
      else if (journal.isSending) answer();
      else if (journal.queue.length > 0) journal = sending(journal);
    }
    while (journal.queue.length > 0) answer();
    assert.ok(sameDraft(server.now, journal.now));
  }
});
