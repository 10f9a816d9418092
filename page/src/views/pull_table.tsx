import type { ComponentChildren } from "preact";
import { signed } from "../logic/numbers";
import { Pull } from "./bars";

interface TableProps {
  caption: string;
  columns: [what: string, value: string];
  isBusy?: boolean;
  children: ComponentChildren;
}

/** What speaks for something and what against it, a bar and a number for each. */
export function PullTable({ caption, columns: [what, value], isBusy = false, children }: TableProps) {
  return (
    <table class="reasons" aria-busy={isBusy}>
      <caption class="hidden">{caption}</caption>
      {/* The head is hidden, so widths cannot come from it. */}
      <colgroup>
        <col class="what" />
        <col />
        <col class="value" />
      </colgroup>
      <thead class="hidden">
        <tr>
          <th scope="col">{what}</th>
          <th scope="col">Bar</th>
          <th scope="col">{value}</th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

interface RowProps {
  value: number | undefined; // unknown where undefined
  most?: number; // without it there is no bar: sums of many would dwarf the single ones
  children: ComponentChildren;
}

export function PullRow({ value, most, children }: RowProps) {
  return (
    <tr>
      <th scope="row" class="reason" colSpan={most === undefined ? 2 : 1}>
        {children}
      </th>
      {most !== undefined && (
        <td class="pull-cell">{value !== undefined && <Pull value={value} most={most} />}</td>
      )}
      <td class="number">{value === undefined ? "–" : signed(value)}</td>
    </tr>
  );
}
