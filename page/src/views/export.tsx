import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { askFile } from "../api";
import { draft, model, question } from "../desk";
import { count, wholeNumber } from "../logic/numbers";
import { say } from "../notice";
import { filter, isFiltered, ranking } from "../ranking";
import { Choice } from "./choice";
import { Dialog } from "./dialog";
import { Failed } from "./states";

export const exportOpen = signal(false);

const FORMATS = { csv: "CSV", parquet: "Parquet", json: "JSON" };

export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The ranking as a file. */
export function Export() {
  const total = ranking.answer.value.value?.num_ranked ?? 0;
  const [format, setFormat] = useState<keyof typeof FORMATS>("csv");
  const [top, setTop] = useState("");
  const [isWorking, setWorking] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const wanted = wholeNumber(top);
  const close = () => (exportOpen.value = false);

  const run = async (event: Event) => {
    event.preventDefault();
    setWorking(true);
    setError(null);
    const body = {
      ...question.value,
      threshold: draft.value.threshold,
      filter: isFiltered.value ? filter.value : null,
      top: wanted,
    };
    try {
      const path = `/models/${encodeURIComponent(model.value!.name)}/export?format=${format}`;
      const { blob, name } = await askFile(path, { method: "POST", body, accept: "*/*" });
      save(blob, name.includes(".") ? name : `${name}.${format}`);
      say("The ranking is in your downloads.");
      close();
    } catch (problem) {
      setError(problem);
    }
    setWorking(false);
  };

  return (
    <Dialog title="Export the ranking" onClose={close}>
      <form class="form" onSubmit={run}>
        <Choice label="Format" name="format" value={format} options={FORMATS} onChoose={setFormat} />
        <div class="field">
          <label class="field-label" for="export-top">
            How many rows
          </label>
          <input
            id="export-top"
            inputMode="numeric"
            placeholder={`all ${count(total)}`}
            value={top}
            aria-invalid={wanted === undefined}
            aria-describedby="export-top-hint"
            onInput={(event) => setTop(event.currentTarget.value)}
          />
          <span id="export-top-hint" class="faint small" role="status">
            {wanted === undefined ? "A whole number, 1 or more; nothing for all." : ""}
          </span>
        </div>
        {isFiltered.value && <p class="faint">Only the nodes that pass the filter.</p>}
        {error !== null && <Failed error={error} />}
        <div class="actions">
          <button type="submit" class="primary" disabled={isWorking || total === 0 || wanted === undefined}>
            {isWorking ? "Writing…" : "Download"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
