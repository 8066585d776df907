//! The size of the pages in which readers read a log.

/// The maximum size of a page; a page holds at least one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize {
    /// The maximum number of events.
    pub events: usize,
    /// The maximum size of the content, in bytes.
    pub bytes: usize,
}

impl PageSize {
    /// The page size of a stream or a socket. If a client does not read, its connection holds one
    /// page.
    pub const FOLLOWED: Self = Self {
        events: 100,
        bytes: 256 * 1024,
    };
}
