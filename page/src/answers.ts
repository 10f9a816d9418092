// Answers that follow the question: asked again when it changes, the old one shown until then.
import { effect, signal, untracked } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";
import { sheet } from "./desk";

export type Answer<T> = {
  /** The newest answer, which may be to an older question. */
  value: T | null;
  state: "none" | "asking" | "ready" | "failed" | "cancelled";
  error: unknown;
};

const none = { value: null, state: "none", error: null } as const;

export interface Asked<T> {
  answer: Signal<Answer<T>>;
  /** Asks again, after a failure or a cancelled try. */
  again: () => void;
  cancel: () => void;
}

/**
 * Asks whenever `what` changes, and stops asking what nobody wants to know any more. Until the new
 * answer comes the old one stays, unless it was about another project.
 *
 * `what` gives null where there is nothing to ask. A short delay makes one question of quick changes.
 */
export function answering<Q, T>(
  what: ReadonlySignal<Q | null>,
  askIt: (question: Q, abort: AbortSignal) => Promise<T>,
  delay = 60,
): Asked<T> {
  const answer = signal<Answer<T>>(none);
  const tries = signal(0);
  let running: AbortController | null = null;
  let about: unknown = null;

  effect(() => {
    const question = what.value;
    tries.value;
    running?.abort();
    if (question === null) {
      answer.value = none;
      return undefined;
    }
    const abort = new AbortController();
    running = abort;
    untracked(() => {
      const old = about === sheet.value ? answer.value.value : null;
      about = sheet.value;
      answer.value = { value: old, state: "asking", error: null };
    });
    const timer = setTimeout(() => {
      askIt(question, abort.signal).then(
        (value) => {
          if (running === abort) answer.value = { value, state: "ready", error: null };
        },
        (error: unknown) => {
          if (running === abort && !abort.signal.aborted)
            answer.value = { value: answer.value.value, state: "failed", error };
        },
      );
    }, delay);
    return () => clearTimeout(timer);
  });

  return {
    answer,
    again: () => (tries.value += 1),
    cancel: () => {
      running?.abort();
      answer.value = { ...answer.value, state: "cancelled" };
    },
  };
}
