interface SearchProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
  placeholder?: string;
}

/** A filter of a list by a text. */
export const Search = ({ label, value, onChange, placeholder }: SearchProps) => (
  <label className="search">
    <span className="small muted">{label}</span>
    <input
      className="input"
      type="search"
      dir="auto"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      placeholder={placeholder}
    />
  </label>
);
