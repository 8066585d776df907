//! The tool `calculator`.
//!
//! `notation` lets pass what has one meaning only and puts it into the form that the expression
//! library reads; the library finds out what is calculated first; `operations` and `number`
//! calculate, exactly as long as 28 digits allow; `measured` knows how far off it is from there.

mod measured;
mod notation;
mod number;
mod operations;
mod tool;

pub(crate) use tool::{EXPRESSION, NAME, calculate, definition};
