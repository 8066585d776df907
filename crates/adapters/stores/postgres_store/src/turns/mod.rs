//! Turns.

mod statements;
