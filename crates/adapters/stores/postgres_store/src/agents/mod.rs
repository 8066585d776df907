//! Agents.

mod statements;
