import { useRef } from "react";
import { useSlash } from "./use-slash.js";

interface SearchProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
  placeholder?: string;
  maxLength?: number;
  /** The field of the page that `/` focuses. */
  isMain?: boolean;
}

/** A filter of a list by a text. */
export const Search = ({ label, value, onChange, placeholder, maxLength, isMain = false }: SearchProps) => {
  const field = useRef<HTMLInputElement>(null);
  useSlash(field, isMain);
  return (
    <label className={isMain ? "search main-search" : "search"}>
      <span className="small muted">
        {label}{" "}
        {isMain && (
          <span className="key" aria-hidden="true">
            /
          </span>
        )}
      </span>
      <input
        ref={field}
        className="input"
        type="search"
        dir="auto"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        placeholder={placeholder}
        maxLength={maxLength}
        aria-keyshortcuts={isMain ? "/" : undefined}
      />
    </label>
  );
};
