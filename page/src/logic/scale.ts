// Cividis: even in lightness, and the same to people who see colours differently.

const STOPS: readonly (readonly [number, number, number])[] = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
];

/** The colour of a share between 0 and 1. */
export function cividis(share: number): string {
  const at = Math.min(1, Math.max(0, share)) * (STOPS.length - 1);
  const low = STOPS[Math.floor(at)]!;
  const high = STOPS[Math.min(Math.floor(at) + 1, STOPS.length - 1)]!;
  const mix = at - Math.floor(at);
  const [r, g, b] = low.map((part, i) => Math.round(part + mix * (high[i]! - part)));
  return `rgb(${r}, ${g}, ${b})`;
}
