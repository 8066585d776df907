interface SearchProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
  placeholder?: string;
}

/** A filter of a list. */
export const Search = ({ label, value, onChange, placeholder }: SearchProps) => (
  <label className="search">
    <span className="small muted">{label}</span>
    <input className="input" type="search" value={value} onChange={(event) => onChange(event.target.value)} placeholder={placeholder} />
  </label>
);
