//! Configuration of an operator: variables, a file, and errors.

mod example;
mod fixture;
mod invalid;
mod secret_files;
mod valid;
