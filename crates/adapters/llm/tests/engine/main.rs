//! The engine against servers that answer as they should, and as they should not.

mod given;
mod streams;
mod upstream;
mod whole_answers;
