// Runs before the first paint, so that a chosen theme does not flash.
let chosen: string | null = null;
try {
  chosen = localStorage.getItem("metatne.theme");
} catch {
  // Storage is forbidden: as the system has it.
}
if (chosen === '"light"' || chosen === '"dark"')
  document.documentElement.dataset["theme"] = chosen.slice(1, -1);
