//! The engine from outside, through its port.

mod endings;
mod given;
mod said;
mod stage;
mod waiting;
