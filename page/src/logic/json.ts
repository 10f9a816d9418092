// JSON in which integers beyond 2^53 survive: graphs have such ids, and a rounded id is another node.

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;

const exact: Reviver = (_key, value, context) => {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
};

/** Reading with a reviver is slow, and almost no answer needs it. */
export function readJson(text: string): unknown {
  return /\d{16}/.test(text) ? JSON.parse(text, exact as (k: string, v: unknown) => unknown) : JSON.parse(text);
}

const raw = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;

export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "bigint" ? (raw ? raw(String(part)) : String(part)) : part,
  );
}
