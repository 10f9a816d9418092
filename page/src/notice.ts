// Short messages at the foot of the page, read out by screen readers.
import { signal } from "@preact/signals";

export interface Notice {
  text: string;
  action?: { name: string; run: () => void };
  isError?: boolean;
}

export const notice = signal<Notice | null>(null);
let timer: ReturnType<typeof setTimeout> | undefined;

export function say(text: string, more: Omit<Notice, "text"> = {}): void {
  clearTimeout(timer);
  notice.value = { text, ...more };
  // What can be undone stays longer; an error stays until it is closed.
  if (!more.isError) timer = setTimeout(hush, more.action ? 8_000 : 4_000);
}

export function hush(): void {
  clearTimeout(timer);
  notice.value = null;
}

/** What a notice offers to undo is no longer the last thing that was done. */
export function hushOffer(): void {
  if (notice.value?.action) hush();
}

export const sayError = (error: unknown): void => {
  say(error instanceof Error ? error.message : String(error), { isError: true });
};
