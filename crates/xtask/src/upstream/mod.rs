//! A server of language models that does what a test wants: it answers at once, it speaks at a pace
//! and says when it said each word, or it breaks in one of the ways in which such servers break.
//!
//! By hand and on one thread of its own, since it must cost less than what is measured with it.

mod connection;
mod manner;
mod request;
mod serving;
mod words;

pub(crate) use self::{
    manner::{Manner, WORDS},
    serving::Upstream,
    words::Marks,
};
