//! Tests of both ports against Redis servers that the tests start.

mod contracts;
mod fallback;
mod faults;
mod nodes;
