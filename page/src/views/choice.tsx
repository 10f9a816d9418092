interface Props<T extends string> {
  label: string;
  name: string;
  value: T;
  options: Record<T, string>;
  onChoose: (value: T) => void;
}

/** One of a few, side by side: radio buttons, so that arrow keys work as everywhere. */
export function Choice<T extends string>({ label, name, value, options, onChoose }: Props<T>) {
  return (
    <fieldset class="choice">
      <legend class="hidden">{label}</legend>
      {(Object.entries(options) as [T, string][]).map(([option, title]) => (
        <label key={option} class={option === value ? "chosen" : ""}>
          <input
            type="radio"
            class="hidden"
            name={name}
            value={option}
            checked={option === value}
            onChange={() => onChoose(option)}
          />
          {title}
        </label>
      ))}
    </fieldset>
  );
}
