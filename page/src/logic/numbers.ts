// Numbers as they are shown.

const whole = new Intl.NumberFormat("en");

export const count = (value: number): string => whole.format(value);

export const probability = (value: number): string =>
  value >= 0.0005 || value === 0 ? value.toFixed(3) : "<0.001";

export const percent = (share: number): string => {
  const value = 100 * share;
  return `${value >= 10 || value === 0 ? value.toFixed(0) : value.toPrecision(2)} %`;
};

/** With a sign that is as wide as a digit, so that columns align. */
export const signed = (value: number): string =>
  `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

/** Without a graph nobody knows. */
export const neighbours = (number: number | null): string =>
  number === null ? "neighbours unknown" : nouns(number, "neighbour");

/** A whole number of at least 1; null where nothing is written, undefined where it is no such number. */
export function wholeNumber(text: string): number | null | undefined {
  if (text.trim() === "") return null;
  const number = Number(text);
  return /^\s*\d+\s*$/.test(text) && number >= 1 && Number.isSafeInteger(number) ? number : undefined;
}

export const nouns = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

export function ago(when: string, now = Date.now()): string {
  const minutes = Math.floor((now - Date.parse(when)) / 60_000);
  if (Number.isNaN(minutes)) return when;
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${nouns(minutes, "minute")} ago`;
  if (minutes < 1440) return `${nouns(Math.floor(minutes / 60), "hour")} ago`;
  return new Date(when).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
}
