import { type RefObject, useEffect } from "react";

/** Focuses a field when the user presses `/`, unless another field has the focus or a dialog is open. */
export const useSlash = (field: RefObject<HTMLElement | null>, isEnabled: boolean): void => {
  useEffect(() => {
    if (!isEnabled) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (document.activeElement?.closest("input, textarea, select, [contenteditable], [role=dialog], [role=alertdialog], [role=menu]"))
        return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [field, isEnabled]);
};
