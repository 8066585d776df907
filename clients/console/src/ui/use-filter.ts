import { useSearchParams } from "wouter";

/** A filter of a list. The address contains it, so that going back shows the same list. */
export const useFilter = (name: string): [value: string, set: (value: string) => void] => {
  const [search, setSearch] = useSearchParams();
  const set = (value: string) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === "") after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  return [search.get(name) ?? "", set];
};
