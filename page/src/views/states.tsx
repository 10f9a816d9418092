import type { ComponentChildren } from "preact";
import { Refusal } from "../api";

/** Nothing to show yet, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Failed({ error, again }: { error: unknown; again?: () => void }) {
  const id = error instanceof Refusal ? error.failure.request_id : null;
  return (
    <div class="empty failed" role="alert">
      <p class="empty-title">That did not work</p>
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {id && <p class="faint small">Request {id}</p>}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Grey bars where lines of text will be; the page does not move when they come. */
export function Waiting({ lines, label }: { lines: number; label: string }) {
  return (
    <div class="waiting" role="status">
      <span class="hidden">{label}</span>
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} class="bone" />
      ))}
    </div>
  );
}
