/** The characters of scripts that put no spaces between words, in which the service finds each character. */
const UNSPACED = "[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Myanmar}\\p{scx=Khmer}]";
/** The characters of words, as the service splits texts. */
const IN_WORD = "[\\p{Alphabetic}\\p{N}\\u0300-\\u036f\\u200c\\u200d]";
const SPACED = `(?!${UNSPACED})${IN_WORD}`;
const WORD = new RegExp(`(?=${IN_WORD})${UNSPACED}|(?:${SPACED})+`, "gu");
const STARTS_UNSPACED = new RegExp(`^${UNSPACED}`, "u");

/** Returns a pattern for a part of a search without spaces: its words in sequence, each of them whole. */
const patternOf = (part: string): string | undefined => {
  const words = part.match(WORD)?.map((word) => (STARTS_UNSPACED.test(word) ? word : `(?<!${SPACED})${word}(?!${SPACED})`));
  return words?.join(`(?:(?!${IN_WORD}).)*`);
};

/** Splits a text at what a search has found: every second part is a match. */
export const splitAtMatches = (text: string, search: string): string[] => {
  // The longest first, which may begin with another.
  const parts = search.split(/\s+/).sort((one, other) => other.length - one.length);
  const patterns = parts.map(patternOf).filter((pattern) => pattern !== undefined);
  return patterns.length === 0 ? [text] : text.split(new RegExp(`(${patterns.join("|")})`, "giu"));
};
