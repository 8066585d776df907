//! Text of servers in our log: limited in length and number, without control characters.

use std::time::Duration;

use crate::window::WindowCount;

/// The maximum number of log lines of one source within [`WINDOW`].
const MAX_LINES: u32 = 100;
const WINDOW: Duration = Duration::from_secs(10);

/// Returns up to `characters` characters of a text, with control characters escaped.
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

/// Limits the log lines of one source.
pub(crate) struct LogThrottle(WindowCount);

impl Default for LogThrottle {
    fn default() -> Self {
        Self(WindowCount::new(WINDOW))
    }
}

impl LogThrottle {
    /// Returns whether another line may be logged. Logs once when the limit is reached.
    pub(crate) fn allows(&mut self) -> bool {
        let lines = self.0.add();
        if lines == MAX_LINES + 1 {
            tracing::debug!(
                "log lines about an MCP server exceed the limit; dropping further ones"
            );
        }
        lines <= MAX_LINES
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
    fn text_of_servers_is_cut_and_escaped(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(printable(text, 8), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn log_lines_are_limited_per_window() {
        let mut throttle = LogThrottle::default();
        for _ in 0..2 {
            let lines = (0..1_000).filter(|_| throttle.allows()).count();
            assert_eq!(lines, 100);
            advance(WINDOW + Duration::from_secs(1)).await;
        }
    }
}
