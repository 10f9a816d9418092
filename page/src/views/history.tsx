import { useEffect, useState } from "preact/hooks";
import { ask } from "../api";
import type { ProjectSummary, Version } from "../contract";
import { ago } from "../logic/numbers";
import { Failed, Waiting } from "./states";

/** Every version of a project. */
export function History({ project }: { project: ProjectSummary }) {
  const [versions, setVersions] = useState<Version[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    ask<{ versions: Version[] }>(`/projects/${project.id}/history`).then(
      (found) => setVersions([...found.versions].sort((a, b) => b.version - a.version)),
      setError,
    );
  }, [project.id]);
  if (error !== null) return <Failed error={error} />;
  if (versions === null) return <Waiting lines={5} label="Loading the history" />;
  return (
    <table class="history">
      <thead>
        <tr>
          <th scope="col" class="number">
            Version
          </th>
          <th scope="col">What</th>
          <th scope="col" class="number">
            Holds it
          </th>
          <th scope="col" class="number">
            Does not
          </th>
          <th scope="col">When</th>
        </tr>
      </thead>
      <tbody>
        {versions.map((version) => (
          <tr key={version.version}>
            <td class="number">{version.version}</td>
            <td>{version.what}</td>
            <td class="number">{version.num_positives}</td>
            <td class="number">{version.num_negatives}</td>
            <td class="faint">{ago(version.changed)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
