import { splitAtMatches } from "./words.js";

/** A text in which what a search has found is marked. */
export const MatchedText = ({ text, search }: { text: string; search: string }) =>
  splitAtMatches(text, search).map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part));
