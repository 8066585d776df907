//! Tests of both ports against Redis servers that the tests start.

mod contracts;
mod faults;
mod nodes;
