//! How an upstream answers.

use std::time::Duration;

/// How an upstream answers, chosen by the first part of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// The whole answer at once.
    Instant,
    /// Word by word, each with the time at which it was said.
    Paced,
    /// Never.
    Hangs,
    /// 429, come again in two seconds.
    RateLimited,
    /// 500.
    Fails,
    /// 200, and then no JSON.
    Malformed,
    /// Some words, and then the connection ends.
    Cut,
    /// What would be an answer, a byte a second.
    Drips,
    /// Words without end, as fast as they are read.
    Endless,
}

impl Manner {
    /// All of them.
    pub(crate) const ALL: [Self; 9] = [
        Self::Instant,
        Self::Paced,
        Self::Hangs,
        Self::RateLimited,
        Self::Fails,
        Self::Malformed,
        Self::Cut,
        Self::Drips,
        Self::Endless,
    ];

    /// Its place in the path.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::Paced => "paced",
            Self::Hangs => "hangs",
            Self::RateLimited => "limited",
            Self::Fails => "fails",
            Self::Malformed => "malformed",
            Self::Cut => "cut",
            Self::Drips => "drips",
            Self::Endless => "endless",
        }
    }

    /// The manner that a path asks for.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.strip_prefix('/')?.split('/').next()?;
        Self::ALL.into_iter().find(|manner| manner.name() == name)
    }
}

/// Before the first word of a paced answer.
pub(super) const FIRST: Duration = Duration::from_millis(100);
/// Between two words of a paced answer.
pub(super) const BETWEEN: Duration = Duration::from_millis(40);
/// Words of a paced answer.
pub(crate) const WORDS: usize = 20;
/// Between two bytes that drip.
pub(super) const DRIP: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_chooses_the_manner() {
        for manner in Manner::ALL {
            let path = format!("/{}/v1/chat/completions", manner.name());
            assert_eq!(Manner::of(&path), Some(manner));
        }
        assert_eq!(Manner::of("/v1/chat/completions"), None);
    }
}
