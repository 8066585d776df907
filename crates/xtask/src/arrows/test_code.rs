//! Finds code that is compiled only for tests, which may use any crate.

use super::tokens::{Piece, Token};

/// A source file without its tests.
pub(super) struct ProductCode<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    /// The modules that are declared here, have files of their own, and exist only for tests.
    pub(super) test_modules: Vec<&'a str>,
}

/// Removes every item under `#[cfg(test)]`.
pub(super) fn without_tests<'a>(tokens: &[Token<'a>]) -> ProductCode<'a> {
    let mut product_code = ProductCode {
        tokens: Vec::new(),
        test_modules: Vec::new(),
    };
    let mut position = 0;
    while position < tokens.len() {
        let rest = &tokens[position..];
        if begins_with(rest, "#![cfg(test)]") {
            break;
        }
        if begins_with(rest, "#[cfg(test)]") {
            let end = position + item_length(rest);
            product_code
                .test_modules
                .extend(module_in_a_file(&tokens[position..end]));
            position = end;
        } else {
            product_code.tokens.push(tokens[position]);
            position += 1;
        }
    }
    product_code
}

fn begins_with(tokens: &[Token<'_>], source: &str) -> bool {
    let expected = super::tokens::tokens(source);
    expected.len() <= tokens.len()
        && expected
            .iter()
            .zip(tokens)
            .all(|(left, right)| left.piece == right.piece)
}

/// Skips to the semicolon or the end of the block that ends the item; its attributes contain
/// neither.
fn item_length(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (position, token) in tokens.iter().enumerate() {
        match token.piece {
            Piece::Mark('{') => depth += 1,
            Piece::Mark('}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return position + 1;
                }
            }
            Piece::Mark(';') if depth == 0 => return position + 1,
            Piece::Word(_) | Piece::PathSeparator | Piece::Mark(_) => {}
        }
    }
    tokens.len()
}

/// The name in `… mod name;`.
fn module_in_a_file<'a>(item: &[Token<'a>]) -> Option<&'a str> {
    match item {
        [.., keyword, name, end]
            if keyword.piece == Piece::Word("mod") && end.piece == Piece::Mark(';') =>
        {
            match name.piece {
                Piece::Word(name) => Some(name),
                Piece::PathSeparator | Piece::Mark(_) => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrows::tokens::tokens;

    fn shipped_words(source: &str) -> Vec<&str> {
        let words = without_tests(&tokens(source))
            .tokens
            .into_iter()
            .filter_map(|token| match token.piece {
                Piece::Word(word) => Some(word),
                Piece::PathSeparator | Piece::Mark(_) => None,
            });
        words.collect()
    }

    #[test]
    fn a_module_of_tests_is_left_out() {
        let source = "struct A; #[cfg(test)] mod tests { use b::c; fn d() {} } struct E;";
        assert_eq!(shipped_words(source), ["struct", "A", "struct", "E"]);
    }

    #[test]
    fn attributes_and_imports_go_with_the_test() {
        assert_eq!(
            shipped_words("#[cfg(test)] #[path = \"x\"] use a::b; c"),
            ["c"]
        );
        assert_eq!(shipped_words("#[cfg(test)] use a::{b, c}; d"), ["d"]);
    }

    #[test]
    fn a_file_for_tests_alone_is_left_out() {
        assert!(shipped_words("//! Samples.\n#![cfg(test)] use a::b;").is_empty());
    }

    #[test]
    fn modules_in_files_of_their_own_are_named() {
        let source =
            tokens("#[cfg(test)] pub(crate) mod samples; mod other; #[cfg(test)] mod a {}");
        assert_eq!(without_tests(&source).test_modules, ["samples"]);
    }

    #[test]
    fn other_conditions_are_no_tests() {
        assert_eq!(shipped_words("#[cfg(unix)] a"), ["cfg", "unix", "a"]);
    }
}
