// As much of a browser as sheet.ts and api.ts ask for: a storage with a limit, and a server in `serve`.
const kept = new Map<string, string>();
export const storage = { limit: Infinity, kept };

const sessionStorage = new Proxy(
  {
    getItem: (key: string): string | null => kept.get(key) ?? null,
    removeItem: (key: string): void => void kept.delete(key),
    setItem(key: string, text: string): void {
      if (text.length > storage.limit) throw new DOMException("full", "QuotaExceededError");
      kept.set(key, text);
    },
  },
  { ownKeys: () => [...kept.keys()], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) },
);

export interface Call {
  method: string;
  path: string;
  body: Record<string, unknown>;
}
type Answer = (call: Call) => Response | Promise<Response>;

/** What was asked; `answer` may reject, as a lost server does. */
export function serve(answer: Answer): Call[] {
  const calls: Call[] = [];
  globalThis.fetch = (async (url: string, init: RequestInit = {}) => {
    if (url === "/ready") return new Response("{}");
    const body = typeof init.body === "string" && init.body.startsWith("{") ? JSON.parse(init.body) : {};
    const call = { method: init.method ?? "GET", path: url.replace("/api/v1", ""), body };
    calls.push(call);
    return answer(call);
  }) as typeof fetch;
  return calls;
}

export const reply = (body: unknown, status = 200): Response => new Response(JSON.stringify(body), { status });

export async function until(isSo: () => boolean): Promise<void> {
  for (let i = 0; i < 400 && !isSo(); i++) await new Promise((resolve) => setTimeout(resolve, 10));
  if (!isSo()) throw new Error("it never came to that");
}

Object.assign(globalThis, { sessionStorage, addEventListener: () => undefined });
