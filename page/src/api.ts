// Requests. A lost server, a busy one and a missing token are waited for here, so that nobody else
// has to think of them; what is left are answers and refusals.
import { signal } from "@preact/signals";
import { whenBack } from "./connection";
import type { Failure, Ranking } from "./contract";
import { EventReader } from "./logic/events";
import { readJson, writeJson } from "./logic/json";
import { askForToken, authorisation } from "./token";

export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly failure: Failure,
    readonly body: unknown,
  ) {
    super(failure.message);
  }
}

/** The server was out of reach, or went away before it had answered. */
export class Lost extends Error {
  constructor() {
    super("The server did not answer. Look whether it has taken this before you try again.");
  }
}

export interface Request {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  body?: unknown;
  file?: Blob; // CSV, sent as it is instead of JSON: the service says which bytes are no text
  accept?: string;
  abort?: AbortSignal | undefined;
  /** Done twice it would be there twice: it throws Lost instead of being asked again. */
  isOnce?: boolean;
}

/** How many requests the server has put off: it has too much to do, or still loads its models. */
export const numPutOff = signal(0);

export async function ask<T>(path: string, request: Request = {}): Promise<T> {
  return waiting(request, async () => {
    const response = await send(path, request);
    return readJson(await reach(() => response.text())) as T;
  });
}

export async function askFile(path: string, request: Request): Promise<{ blob: Blob; name: string }> {
  return waiting(request, async () => {
    const response = await send(path, request);
    const said = response.headers.get("Content-Disposition") ?? "";
    const name = /filename="?([^";]+)"?/.exec(said)?.[1] ?? "ranking";
    return { blob: await reach(() => response.blob()), name };
  });
}

export type Progress = { done: number; total: number };

export async function askRanking(
  path: string,
  request: Request,
  onProgress: (progress: Progress) => void,
): Promise<Ranking> {
  return waiting(request, async () => {
    const response = await send(path, { ...request, accept: "text/event-stream" });
    if (!response.headers.get("Content-Type")?.startsWith("text/event-stream"))
      return readJson(await reach(() => response.text())) as Ranking;
    const reader = new EventReader();
    const decoder = new TextDecoder();
    const stream = response.body!.getReader();
    for (;;) {
      const { done, value } = await reach(() => stream.read());
      if (done) throw new Lost(); // the stream ended before its result
      for (const event of reader.read(decoder.decode(value, { stream: true }))) {
        if (event.name === "progress") onProgress(readJson(event.data) as Progress);
        else if (event.name === "result") return readJson(event.data) as Ranking;
        else if (event.name === "error") throw refusal(response.status, readJson(event.data));
      }
    }
  });
}

async function waiting<T>(request: Request, attempt: () => Promise<T>): Promise<T> {
  let isPutOff = false;
  try {
    for (;;) {
      const header = authorisation()["Authorization"];
      try {
        return await attempt();
      } catch (error) {
        if (request.abort?.aborted) throw error;
        if (isGone(error)) {
          if (request.isOnce) {
            void whenBack(); // so that it is said
            throw new Lost();
          }
          await whenBack(request.abort);
        } else if (error instanceof Refusal && error.status === 401) await askForToken(header);
        else if (error instanceof Busy) {
          if (!isPutOff) numPutOff.value += 1;
          isPutOff = true;
          await new Promise((resolve) => setTimeout(resolve, error.seconds * 1000));
          request.abort?.throwIfAborted();
        } else throw error;
      }
    }
  } finally {
    if (isPutOff) numPutOff.value -= 1;
  }
}

class Busy extends Refusal {
  seconds = 1;
}

const isGone = (error: unknown): boolean =>
  error instanceof Lost || (error instanceof Refusal && [502, 504].includes(error.status));

/** Without a server fetch and its streams throw what our own mistakes throw as well; here it is told apart. */
async function reach<T>(talk: () => Promise<T>): Promise<T> {
  try {
    return await talk();
  } catch (error) {
    throw error instanceof TypeError ? new Lost() : error;
  }
}

async function send(path: string, request: Request): Promise<Response> {
  const headers: Record<string, string> = {
    Accept: request.accept ?? "application/json",
    ...authorisation(),
  };
  const init: RequestInit = { method: request.method ?? "GET", headers, cache: "no-store" };
  if (request.abort) init.signal = request.abort;
  if (request.file !== undefined) {
    headers["Content-Type"] = "text/csv";
    init.body = request.file;
  } else if (request.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = writeJson(request.body);
  }
  const response = await reach(() => fetch(`/api/v1${path}`, init));
  if (response.ok) return response;
  throw await toRefusal(response);
}

async function toRefusal(response: Response): Promise<Refusal> {
  const text = await reach(() => response.text());
  let body: unknown = null;
  try {
    body = readJson(text);
  } catch {
    // A proxy's page, perhaps; the status has to do.
  }
  const found = refusal(response.status, body);
  const after = Number(response.headers.get("Retry-After"));
  if (response.status !== 503 && response.status !== 429) return found;
  if (found.failure.code === "storage") return found; // a full disk does not pass by waiting unseen
  const busyRefusal = new Busy(found.status, found.failure, found.body);
  busyRefusal.seconds = Number.isFinite(after) && after > 0 ? Math.min(after, 30) : 1;
  return busyRefusal;
}

function refusal(status: number, body: unknown): Refusal {
  const failure = (body as { error?: Partial<Failure> } | null)?.error;
  return new Refusal(
    status,
    {
      code: failure?.code ?? "internal",
      message: failure?.message ?? `The server answered ${status} and gave no reason.`,
      field: failure?.field ?? null,
      request_id: failure?.request_id ?? "",
    },
    body,
  );
}
