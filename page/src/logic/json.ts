// JSON in which integers beyond 2^53 survive: graphs have such ids, and a rounded id is another node.

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;

const exact: Reviver = (_key, value, context) => {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
};

/** Sixteen digits that are not the decimals of a number: almost every probability has as many. */
export const hasLargeInteger = (text: string): boolean => /(?:^|[^\d.])\d{16}/.test(text);

/** Reading with a reviver is slow, and almost no answer needs it. */
export function readJson(text: string): unknown {
  const reviver = exact as (key: string, value: unknown) => unknown;
  return hasLargeInteger(text) ? JSON.parse(text, reviver) : JSON.parse(text);
}

const raw = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;

export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "bigint" ? (raw ? raw(String(part)) : String(part)) : part,
  );
}
