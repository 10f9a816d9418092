import { useEffect, useRef, useState } from "preact/hooks";

const PAUSE = 700;

/** Text that is being typed: it becomes a change at a pause, or when the field or page is left. */
export function useTyping(value: string, commit: (text: string) => void) {
  const [text, setText] = useState<string | null>(null); // null: as it is saved
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latest = useRef<string | null>(null);
  latest.current = text;

  const finish = () => {
    clearTimeout(timer.current);
    if (latest.current === null) return;
    commit(latest.current);
    latest.current = null;
    setText(null);
  };
  const end = useRef(finish);
  end.current = finish;

  useEffect(() => {
    const leave = () => end.current();
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("pagehide", leave);
      leave();
    };
  }, []);

  return {
    value: text ?? value,
    onInput: (event: Event) => {
      setText((event.target as HTMLInputElement).value);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => end.current(), PAUSE);
    },
    onBlur: finish,
  };
}
