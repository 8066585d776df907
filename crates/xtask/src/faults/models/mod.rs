//! F4: the server of language models breaks.

mod asking;
mod case;
mod phases;

pub(super) use self::phases::run;
