//! The state of the published documents.

use kit::state::Lazy;

use crate::{Console, Documents};

/// The state of the published documents.
pub struct DocumentState {
    /// The published documents.
    pub documents: Lazy<Documents>,
    /// The files of the console, unless it is turned off.
    pub console: Option<Lazy<Console>>,
}
