//! The follower that gives conversations titles by models.

mod first_turn;
mod request;
mod writer;

pub use writer::TitleWriter;
