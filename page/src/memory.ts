// What this browser remembers: small, and the page works without it.
import { readJson, writeJson } from "./logic/json";

const PREFIX = "metatne.";

export function recall<T>(name: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? otherwise : (readJson(text) as T);
  } catch {
    return otherwise;
  }
}

export function remember(name: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + name, writeJson(value));
  } catch {
    // Full or forbidden.
  }
}
