//! R7: the home region is cut off for a minute, as a client in Frankfurt observes it.

mod figures;
mod measure;
mod observer;
mod transcript;

pub(super) use self::measure::measure;
