import { useRef } from "preact/hooks";
import { ask } from "../api";
import type { Project } from "../contract";
import { modelName } from "../desk";
import { nouns } from "../logic/numbers";
import { say, sayError } from "../notice";

/** A new project from a file of marks. */
export function Import({ onDone }: { onDone: (id: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const run = async (file: File) => {
    const name = file.name.replace(/\.csv$/i, "");
    const query = new URLSearchParams({ name, model: modelName() });
    try {
      const request = { method: "POST" as const, file, isOnce: true };
      const project = await ask<Project>(`/projects/import?${query}`, request);
      say(`${nouns(project.positives.length + project.negatives.length, "mark")} imported`);
      onDone(project.id);
    } catch (error) {
      sayError(error);
    }
  };
  return (
    <>
      <button type="button" onClick={() => field.current!.click()}>
        Import CSV
      </button>
      <input
        ref={field}
        type="file"
        accept=".csv,text/csv"
        class="hidden"
        tabIndex={-1}
        aria-label="CSV with the columns node and mark"
        onChange={({ currentTarget }) => {
          const file = currentTarget.files?.[0];
          if (file) void run(file);
          currentTarget.value = "";
        }}
      />
    </>
  );
}
