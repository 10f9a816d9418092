// The token is asked for once a tab and kept for that tab only.
import { signal } from "@preact/signals";

const KEY = "metatne.token";

/** Set while a token is asked for; `isWrong` when one was given and refused. */
export const tokenWanted = signal<{ isWrong: boolean } | null>(null);

let waiters: (() => void)[] = [];

export const authorisation = (): Record<string, string> => {
  const token = sessionStorage.getItem(KEY);
  return token === null ? {} : { Authorization: `Bearer ${token}` };
};

/** Resolves when the user has given a token other than the one that was refused. */
export function askForToken(refused: string | undefined): Promise<void> {
  if (authorisation()["Authorization"] !== refused) return Promise.resolve(); // given meanwhile
  tokenWanted.value ??= { isWrong: refused !== undefined };
  return new Promise((resolve) => waiters.push(resolve));
}

export function giveToken(token: string): void {
  // A header cannot carry line ends or letters beyond Latin-1, and fetch would throw on them.
  sessionStorage.setItem(KEY, token.trim().replace(/[^\x21-\x7e]/g, ""));
  tokenWanted.value = null;
  const waiting = waiters;
  waiters = [];
  for (const go of waiting) go();
}
