//! F4: the language model server fails.

mod case;
mod client;
mod phases;

pub(super) use self::phases::run;
