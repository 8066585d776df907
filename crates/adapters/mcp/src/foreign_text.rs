//! What others write, for our log: bounded in length and in number, without what a terminal obeys.

use std::time::Duration;

use crate::window::WindowCount;

/// How many lines a source may have in the log within [`WHILE`].
const MOST_LINES: u32 = 100;
const WHILE: Duration = Duration::from_secs(10);

/// The beginning of a text, up to so many characters, with control characters written out.
pub(crate) fn printable(text: &str, characters: usize) -> String {
    let mut printable = String::new();
    for character in text.chars().take(characters) {
        if character.is_control() {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}

/// What one source has lately had in the log.
pub(crate) struct Told(WindowCount);

impl Default for Told {
    fn default() -> Self {
        Self(WindowCount::new(WHILE))
    }
}

impl Told {
    /// Whether there is room for one more line. Says once when there is no more.
    pub(crate) fn may_tell(&mut self) -> bool {
        let lines = self.0.add();
        if lines == MOST_LINES + 1 {
            tracing::debug!("a server of tools has more to log than is passed on");
        }
        lines <= MOST_LINES
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use tokio::time::advance;

    use super::*;

    #[rstest]
    #[case("plain é", "plain é")]
    #[case("\u{1b}[2Jgone\r\n", "\\u{1b}[2Jgone")]
    #[case("0123456789", "01234567")]
    fn what_others_write_is_cut_and_does_nothing(#[case] text: &str, #[case] told: &str) {
        assert_eq!(printable(text, 8), told);
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_lines_are_told_in_a_while() {
        let mut told = Told::default();
        for _ in 0..2 {
            let lines = (0..1_000).filter(|_| told.may_tell()).count();
            assert_eq!(lines, 100);
            advance(WHILE + Duration::from_secs(1)).await;
        }
    }
}
