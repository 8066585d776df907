//! The ways in which the double responds.

use std::time::Duration;

/// A way to respond, chosen by the first segment of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseMode {
    /// The complete response at once.
    Instant,
    /// The complete response at once; a stream consists of many pieces, each in a chunk of its own.
    Pieces,
    /// To a request with tools, a call of the calculator; to its result, and to a request without tools, the
    /// complete response at once.
    Calling,
    /// Word by word, each with its send time.
    Paced,
    /// No response.
    Hang,
    /// 429 with `Retry-After: 2`.
    RateLimited,
    /// 500.
    ServerError,
    /// 200 with malformed JSON.
    Malformed,
    /// Some words, and then the end of the connection.
    Truncated,
    /// A valid response, one byte a second.
    ByteByByte,
    /// Words without end, as fast as the client reads them.
    Endless,
}

impl ResponseMode {
    const ALL: [Self; 11] = [
        Self::Instant,
        Self::Pieces,
        Self::Calling,
        Self::Paced,
        Self::Hang,
        Self::RateLimited,
        Self::ServerError,
        Self::Malformed,
        Self::Truncated,
        Self::ByteByByte,
        Self::Endless,
    ];

    /// The path segment that chooses the mode.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::Pieces => "pieces",
            Self::Calling => "calling",
            Self::Paced => "paced",
            Self::Hang => "hang",
            Self::RateLimited => "limited",
            Self::ServerError => "error",
            Self::Malformed => "malformed",
            Self::Truncated => "truncated",
            Self::ByteByByte => "bytes",
            Self::Endless => "endless",
        }
    }

    /// The mode that a path chooses.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.strip_prefix('/')?.split('/').next()?;
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// The number of pieces of a [`ResponseMode::Pieces`] stream.
pub(super) const PIECES: usize = 40;
/// The pause before the first word of a paced response.
pub const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The pause between two words of a paced response.
pub(super) const WORD_PAUSE: Duration = Duration::from_millis(40);
/// The number of words of a paced response.
pub const WORDS: usize = 20;
/// The pause between two bytes of [`ResponseMode::ByteByByte`].
pub(super) const BYTE_PAUSE: Duration = Duration::from_secs(1);
