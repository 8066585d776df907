import { useEffect, useRef, useState } from "react";

/** Receives files that are dropped anywhere on the page. Returns whether some are above it. */
export const useFileDrop = (onFiles: (files: File[]) => void): boolean => {
  const [isOver, setIsOver] = useState(false);
  const receive = useRef(onFiles);
  useEffect(() => void (receive.current = onFiles));
  useEffect(() => {
    const listening = new AbortController();
    const on = (type: "dragover" | "dragleave" | "drop", act: (event: DragEvent) => void) => {
      const handle = (event: DragEvent) => {
        if (event.dataTransfer?.types.includes("Files") !== true) return;
        // Otherwise the browser would leave the page for the file.
        event.preventDefault();
        act(event);
      };
      window.addEventListener(type, handle, listening);
    };
    on("dragover", () => setIsOver(true));
    // It has left the window.
    on("dragleave", ({ relatedTarget }) => relatedTarget === null && setIsOver(false));
    on("drop", ({ dataTransfer }) => {
      setIsOver(false);
      receive.current([...(dataTransfer?.files ?? [])]);
    });
    return () => listening.abort();
  }, []);
  return isOver;
};
