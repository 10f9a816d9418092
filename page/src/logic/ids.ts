import type { Id } from "../contract";

/** One text per id: the integer 1 and the text "1" are different nodes. */
export const keyOf = (id: Id): string => (typeof id === "string" ? `"${id}` : String(id));

export const sameId = (a: Id, b: Id): boolean => keyOf(a) === keyOf(b);

export const showId = (id: Id): string => String(id);

export const keysOf = (ids: readonly Id[]): Set<string> => new Set(ids.map(keyOf));
