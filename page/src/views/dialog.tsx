import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface Props {
  title: string;
  onClose?: () => void; // without it, the dialogue has to be answered
  wide?: boolean;
  /** Where the focus goes when it closes; without it, or with null, where it was before. */
  focusAfter?: () => HTMLElement | null;
  children: ComponentChildren;
}

/** A modal dialogue: the browser's own, which keeps the focus inside and gives it back. */
export function Dialog({ title, onClose, wide, focusAfter, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const after = useRef(focusAfter);
  after.current = focusAfter;
  const heading = useId();
  useEffect(() => {
    const dialog = element.current!;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      const next = after.current?.() ?? before;
      if (next instanceof HTMLElement && next.isConnected) next.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={wide ? "dialog wide" : "dialog"}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClick={(event) => {
        if (event.target === element.current) onClose?.();
      }}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={heading}>{title}</h2>
          {onClose && (
            <button type="button" class="quiet icon" aria-label="Close" onClick={onClose}>
              ×
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  );
}
