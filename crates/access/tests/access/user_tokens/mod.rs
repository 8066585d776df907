//! Tokens for users, as each process issues and verifies them.

mod backend;
mod ends;
mod issuing;
mod tool_tokens;
