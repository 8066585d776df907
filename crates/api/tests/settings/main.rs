//! Configuration as an operator meets it: variables, a file, and what is said about mistakes.

mod example;
mod given;
mod read;
mod refused;
