import { percent } from "../logic/numbers";

const at = (share: number): string => `${100 * Math.min(1, Math.max(0, share))}%`;

interface BarProps {
  probability: number;
  low?: number | null;
  high?: number | null;
  line?: number;
  isAbove?: boolean;
}

/** A probability, its interval, and where the decision line is. The number stands beside it. */
export function Bar({ probability, low, high, line, isAbove }: BarProps) {
  const says =
    low != null && high != null ? `between ${percent(low)} and ${percent(high)}` : undefined;
  return (
    <div class={isAbove ? "bar above" : "bar"} title={says} aria-hidden="true">
      <span class="bar-fill" style={{ width: at(probability) }} />
      {low != null && high != null && (
        <span class="bar-interval" style={{ left: at(low), width: at(high - low) }} />
      )}
      {line !== undefined && <span class="bar-line" style={{ left: at(line) }} />}
    </div>
  );
}

/** A contribution to the left or to the right of nothing. */
export function Pull({ value, most }: { value: number; most: number }) {
  const half = most > 0 ? (50 * Math.abs(value)) / most : 0;
  return (
    <div class="pull" aria-hidden="true">
      <span
        class={value < 0 ? "pull-fill against" : "pull-fill"}
        style={{ left: `${value < 0 ? 50 - half : 50}%`, width: `${half}%` }}
      />
    </div>
  );
}
