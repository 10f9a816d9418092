// Whether the server answers. Requests that find it gone wait here and go on when it is back.
import { signal } from "@preact/signals";

export const lost = signal<{ nextTry: number } | null>(null);

const LONGEST_WAIT = 15_000;
let waiters: (() => void)[] = [];
let wake: (() => void) | null = null;

export function whenBack(abort?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (abort?.aborted) return reject(abort.reason as Error);
    abort?.addEventListener("abort", () => reject(abort.reason as Error), { once: true });
    waiters.push(resolve);
    if (lost.value === null) void keepTrying();
  });
}

export const tryNow = (): void => wake?.();

async function keepTrying(): Promise<void> {
  for (let wait = 1_000; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    lost.value = { nextTry: Date.now() + wait };
    await new Promise<void>((resolve) => {
      wake = resolve;
      setTimeout(resolve, wait);
    });
    if (await answers()) break;
  }
  lost.value = null;
  const waiting = waiters;
  waiters = [];
  for (const go of waiting) go();
}

async function answers(): Promise<boolean> {
  try {
    // Not /health: a server whose models are not loaded yet cannot be asked anything.
    return (await fetch("/ready", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

addEventListener("online", tryNow);
