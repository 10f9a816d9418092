import { computed, effect, signal } from "@preact/signals";
import { recall, remember } from "../memory";

export type Theme = "auto" | "light" | "dark";
export const theme = signal<Theme>(recall<Theme>("theme", "auto"));

const prefers = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(prefers.matches);
prefers.addEventListener("change", () => (systemIsDark.value = prefers.matches));

export const isDark = computed(() =>
  theme.value === "auto" ? systemIsDark.value : theme.value === "dark",
);

effect(() => {
  remember("theme", theme.value);
  const root = document.documentElement;
  if (theme.value === "auto") delete root.dataset["theme"];
  else root.dataset["theme"] = theme.value;
});
