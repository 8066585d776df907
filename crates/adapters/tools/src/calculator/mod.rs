//! The tool `calculator`.
//!
//! `notation` accepts unambiguous expressions and converts them to the notation of the expression
//! library, which decides the order of operations. `operations` and `number` calculate, exactly
//! where 28 digits suffice. `measured` tracks the error of rounded values.

mod measured;
mod notation;
mod number;
mod operations;
mod tool;

pub(crate) use tool::{EXPRESSION, NAME, calculate, definition};
