//! A tokenizer that keeps names and punctuation, and skips comments and literals.

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A name or a keyword.
    Word(&'a str),
    /// `::`
    PathSeparator,
    /// Another character that is not white space.
    Mark(char),
}

/// A token and its line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) piece: Piece<'a>,
    pub(super) line: usize,
}

/// Splits source into tokens. The result for invalid source is unspecified.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let length = length_without_meaning(rest, first);
        let (piece, length) = match length {
            Some(length) => (None, length),
            None if rest.starts_with("::") => (Some(Piece::PathSeparator), 2),
            None if is_word(first) => {
                let length = rest
                    .find(|character| !is_word(character))
                    .unwrap_or(rest.len());
                (Some(Piece::Word(&rest[..length])), length)
            }
            None => (Some(Piece::Mark(first)), first.len_utf8()),
        };
        found.extend(piece.map(|piece| Token { piece, line }));
        let (passed, remaining) = rest.split_at(length);
        line += passed.matches('\n').count();
        rest = remaining;
    }
    found
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

/// The length of the white space, comment, literal or lifetime at the start of the text, if there
/// is one.
fn length_without_meaning(rest: &str, first: char) -> Option<usize> {
    if first.is_whitespace() {
        return Some(first.len_utf8());
    }
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    raw_text(rest).or_else(|| quoted(rest))
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut position = 0;
    while position < rest.len() {
        let here = &rest[position..];
        if here.starts_with("/*") {
            depth += 1;
            position += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            position += 2;
            if depth == 0 {
                return position;
            }
        } else {
            position += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Raw strings: `r"…"`, `br#"…"#` and the like.
fn raw_text(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix);
        after.is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
    })?;
    let hashes = rest[prefix.len()..]
        .bytes()
        .take_while(|byte| *byte == b'#')
        .count();
    let start = prefix.len() + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(
        rest[start..]
            .find(&end)
            .map_or(rest.len(), |length| start + length + end.len()),
    )
}

/// Strings, `'x'`, and lifetimes.
fn quoted(rest: &str) -> Option<usize> {
    let prefix = ["", "b", "c"].into_iter().find(|prefix| {
        rest.strip_prefix(prefix)
            .is_some_and(|after| after.starts_with(['"', '\'']))
    })?;
    let body = &rest[prefix.len()..];
    let quote = body.chars().next()?;
    let mut inside = body.char_indices().skip(1).peekable();
    if quote == '\'' && is_lifetime(body) {
        let end = body[1..].find(|character| !is_word(character));
        return Some(prefix.len() + end.map_or(body.len(), |length| length + 1));
    }
    while let Some((position, character)) = inside.next() {
        if character == '\\' {
            inside.next();
        } else if character == quote {
            return Some(prefix.len() + position + 1);
        }
    }
    Some(rest.len())
}

/// Returns true if a single quote begins a lifetime and not a character.
fn is_lifetime(body: &str) -> bool {
    let mut characters = body.chars().skip(1);
    characters.next().is_some_and(is_word) && characters.next() != Some('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        let words = tokens(source)
            .into_iter()
            .filter_map(|token| match token.piece {
                Piece::Word(word) => Some(word),
                Piece::PathSeparator | Piece::Mark(_) => None,
            });
        words.collect()
    }

    #[test]
    fn comments_and_texts_are_passed_over() {
        assert_eq!(words("a // b\n c /* d /* e */ f */ g"), ["a", "c", "g"]);
        assert_eq!(
            words(r##"a "b \" c" d b"e" r#"f " g"# h r"i" j"##),
            ["a", "d", "h", "j"]
        );
        assert_eq!(
            words("a 'b' c '\\'' d '\\u{e9}' e '日' f"),
            ["a", "c", "d", "e", "f"]
        );
    }

    #[test]
    fn lifetimes_do_not_begin_a_text() {
        assert_eq!(
            words("fn a<'b>(c: &'b str, d: &'static e) { 'f: loop {} }"),
            ["fn", "a", "c", "str", "d", "e", "loop"]
        );
    }

    #[test]
    fn words_that_begin_like_texts_stay_words() {
        assert_eq!(
            words("r b br rest bytes"),
            ["r", "b", "br", "rest", "bytes"]
        );
    }

    #[test]
    fn lines_are_counted_through_comments_and_texts() {
        let last = tokens("/* 1\n2 */ \"2\n3\"\nlast").pop().unwrap();
        assert_eq!((last.piece, last.line), (Piece::Word("last"), 4));
    }

    #[test]
    fn what_never_ends_is_passed_over() {
        for source in ["\"a", "/* a", "r#\"a\"", "'", "b'\\"] {
            assert!(words(source).is_empty(), "{source}");
        }
    }
}
