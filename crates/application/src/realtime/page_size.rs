//! The size of the pages that readers of a log take.

/// The maximum size of a page; a page holds at least one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize {
    /// Number of events.
    pub events: usize,
    /// Bytes of content.
    pub bytes: usize,
}

impl PageSize {
    /// A page of a stream or a socket. One whose client does not read holds one page.
    pub const FOLLOWED: Self = Self {
        events: 100,
        bytes: 256 * 1024,
    };
}
