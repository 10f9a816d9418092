// The token is asked for once a tab and kept for that tab only.
import { signal } from "@preact/signals";

const KEY = "metatne.token";

/** Set while a token is asked for; `isWrong` when one was given and refused. */
export const tokenWanted = signal<{ isWrong: boolean } | null>(null);

let waiters: (() => void)[] = [];
let token = kept();

function kept(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null; // forbidden: it is asked for again after a reload
  }
}

export const authorisation = (): Record<string, string> => {
  return token === null ? {} : { Authorization: `Bearer ${token}` };
};

/** Resolves when the user has given a token other than the one that was refused. */
export function askForToken(refused: string | undefined): Promise<void> {
  if (authorisation()["Authorization"] !== refused) return Promise.resolve(); // given meanwhile
  tokenWanted.value ??= { isWrong: refused !== undefined };
  return new Promise((resolve) => waiters.push(resolve));
}

export function giveToken(given: string): void {
  // A header cannot carry line ends or letters beyond Latin-1, and fetch would throw on them.
  token = given.trim().replace(/[^\x21-\x7e]/g, "");
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // Full or forbidden: it is known as long as the page is open.
  }
  tokenWanted.value = null;
  const waiting = waiters;
  waiters = [];
  for (const go of waiting) go();
}
