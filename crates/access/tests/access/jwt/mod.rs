mod keys;
mod parsing;
mod signatures;
