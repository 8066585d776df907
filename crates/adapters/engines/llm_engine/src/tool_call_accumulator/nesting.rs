//! The end of a JSON object that arrives in pieces. Parsing it after each piece would take quadratic
//! time.

/// The state of the text so far.
#[derive(Default)]
pub(super) struct Nesting {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    is_closed: bool,
}

impl Nesting {
    /// Returns whether an object or an array was opened, and all of them are closed.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub(super) fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.is_in_string {
                self.is_in_string = self.is_escaped || byte != b'"';
                self.is_escaped = !self.is_escaped && byte == b'\\';
                continue;
            }
            match byte {
                b'"' => self.is_in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_closed |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", false)]
    #[case(" ", false)]
    #[case("{", false)]
    #[case("{}", true)]
    #[case(r#"{"a": [1, {"b": "}"}]}"#, true)]
    #[case(r#"{"a": "\"}"#, false)]
    #[case(r#"{"a": "\\"}"#, true)]
    #[case(r#"{"a": {}"#, false)]
    #[case("{} ", true)]
    fn the_end_of_an_object_is_found_in_pieces(#[case] text: &str, #[case] expected: bool) {
        let mut whole = Nesting::default();
        whole.push(text);
        assert_eq!(whole.is_closed(), expected);
        let mut in_pieces = Nesting::default();
        for character in text.chars() {
            in_pieces.push(character.encode_utf8(&mut [0; 4]));
        }
        assert_eq!(in_pieces.is_closed(), expected);
    }
}
